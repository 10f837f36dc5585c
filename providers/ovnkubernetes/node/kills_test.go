package node_test

import (
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
)

// connection is a TCP connection between two pods that stays open.
type connection struct{ client, server net.Conn }

func connect(t testing.TB, from, to *pod) *connection {
	t.Helper()
	address := netip.AddrPortFrom(to.addr(), 7001).String()
	var listener net.Listener
	if err := ns.WithNetNSPath(to.Path(), func(ns.NetNS) (err error) {
		listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	c := &connection{}
	if err := ns.WithNetNSPath(from.Path(), func(ns.NetNS) (err error) {
		c.client, err = (&net.Dialer{Timeout: time.Minute}).DialContext(t.Context(), "tcp", address)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.client.Close(), c.server.Close() })
	return c
}

// survives reports whether data still goes both ways.
func (c *connection) survives() error {
	for _, ends := range [][2]net.Conn{{c.client, c.server}, {c.server, c.client}} {
		for _, end := range ends {
			if err := end.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				return err
			}
		}
		if _, err := ends[0].Write([]byte("x")); err != nil {
			return err
		}
		if _, err := ends[1].Read(make([]byte, 1)); err != nil {
			return err
		}
	}
	return nil
}

// rate is how many packets a second TestKills sends each way.
var rate = flag.Int("rate", 500, "packets a second of each flow of TestKills, a multiple of 500")

// attempts is how often a row without losses is tried: a machine that has no time for Open vSwitch loses some packets of its own. What a kill loses is lost
// each time.
const attempts = 3

// TestKills kills each process of a node that is a control-plane node, too, while its pods send packets to those of another node and receive some.
// It measures what is lost, and compares everything with the API afterwards. The table is in docs/providers/ovn-kubernetes.md.
func TestKills(t *testing.T) {
	c := governed(t)
	one := c.nodes[0]
	w := watch(one, c.nodes[1])
	t.Run("idle", w.writesNothing)
	for _, row := range []struct {
		what string
		do   func()
		// lossless rows lose no packet.
		lossless bool
	}{
		{"none", func() {}, true},
		{"ovnkube, the agent", func() { one.killCommand("ovn-node") }, true},
		{"ovnkube, the master", func() { one.killCommand("ovn-master") }, true},
		{"ovn-northd", func() { one.killProcess("ovn-northd --ovnnb-db=unix:"+one.run, "run-ovn-northd") }, true},
		{"ovsdb-server, northbound", func() { one.killProcess(one.server("ovnnb"), "nb-ovsdb") }, true},
		{"ovsdb-server, southbound", func() { one.killProcess(one.server("ovnsb"), "sb-ovsdb") }, true},
		// Without its database ovs-vswitchd does not poll the ports of the userspace datapath. It connects again after a second.
		{"ovsdb-server, Open vSwitch", func() { one.killProcess("ovsdb-server .*--remote=punix:"+one.run+"/ovs/", "") }, false},
		{"ovn-controller", func() { one.killProcess("ovn-controller unix:"+one.run, "ovn-controller") }, true},
		{"ovs-vswitchd", func() { one.killProcess("ovs-vswitchd unix:"+one.run, "") }, false},
		{"the northbound database with its file", func() { one.killProcess(one.server("ovnnb"), "nb-ovsdb", one.database("ovnnb")) }, true},
		{"the southbound database with its file", func() { one.killProcess(one.server("ovnsb"), "sb-ovsdb", one.database("ovnsb")) }, true},
		{"the API server", w.loseAPI, true},
	} {
		t.Run(row.what, func(t *testing.T) { w.during(t, row.what, row.lossless, row.do) })
	}
}

// watched is a cluster with pods on two nodes, between which packets go both ways, and a connection that stays open.
type watched struct {
	*cluster
	a, far *pod
	kept   *connection
	// added counts the pods that were added after something was done.
	added int
}

func watch(from, to *machine) *watched {
	from.t.Helper()
	w := &watched{cluster: from.cluster, a: from.governedPod(from.name + "-to-" + to.name), far: to.governedPod(to.name + "-from-" + from.name)}
	nodetest.Reaches(w.t, w.a.Namespace, w.far.addr(), podMTU)
	w.kept = connect(w.t, w.a, w.far)
	w.agreesWhole("at the beginning")
	return w
}

// during does something while packets go both ways, prints what is lost, and verifies that everything works and agrees with the API afterwards.
func (w *watched) during(t *testing.T, what string, lossless bool, do func()) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		lost := w.measure(t, what, do)
		w.works(what)
		if !lossless || lost == 0 {
			return
		}
		if attempt == attempts {
			t.Fatalf("packets are lost each time, %d the last time", lost)
		}
	}
}

// measure returns how many packets are lost.
func (w *watched) measure(t *testing.T, what string, do func()) (lost int) {
	t.Helper()
	const port = 7000
	burst := *rate * int(nodetest.Pace) / int(time.Second)
	both := [2]*nodetest.Flow{
		nodetest.SendBursts(t, w.a.Namespace, w.far.Namespace, netip.AddrPortFrom(w.far.addr(), port), "there", burst),
		nodetest.SendBursts(t, w.far.Namespace, w.a.Namespace, netip.AddrPortFrom(w.a.addr(), port), "back", burst),
	}
	arrive := func(what string) {
		t.Helper()
		before := [2]int{both[0].Count(), both[1].Count()}
		eventually.Holds(t, what, func() (string, bool) {
			return "", both[0].Count() > before[0]+*rate && both[1].Count() > before[1]+*rate
		})
	}
	arrive("packets arrive")
	do()
	arrive("packets arrive again")
	w.a.m.ready()
	w.agreesWhole("after " + what)
	if err := w.kept.survives(); err != nil {
		t.Errorf("a connection that was open before: %v", err)
	}
	longest := time.Duration(0)
	for _, f := range both {
		n, gap := f.Lost(t)
		lost, longest = lost+n, max(longest, gap)
	}
	t.Logf("%s: %d packets are lost, the longest gap is %s", what, lost, longest.Round(time.Millisecond))
	return lost
}

// works adds a pod to a node, reaches the other one from it, and removes it.
func (w *watched) works(what string) {
	w.t.Helper()
	w.added++
	p := w.a.m.governedPod(fmt.Sprintf("%s-%d", w.a.name, w.added))
	nodetest.Reaches(w.t, p.Namespace, w.far.addr(), podMTU)
	p.remove()
	w.agreesWhole("after " + what + ", when a pod has started and ended")
}

// server is how the command line of the server of one of OVN's databases begins.
func (m *machine) server(database string) string {
	return "ovsdb-server .*--remote=punix:" + m.run + "/ovn/" + database
}

// database is the file of one of OVN's databases.
func (m *machine) database(name string) string {
	return filepath.Join(m.dir, "ovn", name+"_db.db")
}

// loseAPI is what happens when the API server is killed: the master ends without its lease, and takes it again when the server is back.
func (c *cluster) loseAPI() {
	c.t.Helper()
	one := c.nodes[0]
	for _, m := range c.nodes {
		m.toAPI.Stop()
	}
	eventually.Is(c.t, "the master ends", func() bool { return one.ended("ovn-master") })
	one.start("ovn-master")
	eventually.Holds(c.t, "the southbound database is closed to nodes", func() (string, bool) {
		out := one.at.Run("ss", "--no-header", "--listening", "--tcp", "--numeric", "sport", "=", ":6642")
		return out, out == ""
	})
	for _, m := range c.nodes {
		m.toAPI.Start(c.t)
	}
}

// killCommand kills a command of ovnkube, and starts it again as the kubelet does.
func (m *machine) killCommand(command string) {
	m.t.Helper()
	m.kill(command)
	m.start(command)
}

// killProcess kills the process whose command line begins with a pattern, and waits until it runs again. The container of the command ends with it, loses
// files, and is started again as the kubelet does; with an empty command, ovnkube keeps the process.
func (m *machine) killProcess(pattern, command string, files ...string) {
	m.t.Helper()
	dead := processOf(pattern)
	if dead == "" || strings.Contains(dead, "\n") {
		m.t.Fatalf("the processes are %q", dead)
	}
	netns.Run(m.t, "kill", "-9", dead)
	if command != "" {
		eventually.Is(m.t, "the container ends", func() bool { return m.ended(command) })
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				m.t.Fatal(err)
			}
		}
		m.start(command)
	}
	eventually.Holds(m.t, "it runs again", func() (string, bool) { now := processOf(pattern); return now, now != "" && now != dead })
}
