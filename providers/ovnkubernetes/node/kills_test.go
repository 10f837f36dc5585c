package node_test

import (
	"flag"
	"fmt"
	"net"
	"net/netip"
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

func connect(t *testing.T, from, to *pod) *connection {
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

// fewPackets is how many packets a machine loses of its own that has no time for Open vSwitch: 20 ms of each flow. What a kill loses is more, each time.
func fewPackets() int { return 2 * *rate / 50 }

// TestKills kills each process of a node that is a control-plane node, too, while its pods send packets to those of another node and receive some.
// It measures what is lost, and compares everything with the API afterwards. The table is in docs/providers/ovn-kubernetes.md.
func TestKills(t *testing.T) {
	c := governed(t)
	one, two := c.nodes[0], c.nodes[1]
	a, far := one.governedPod("a"), two.governedPod("far")
	nodetest.Reaches(t, a.Namespace, far.addr(), podMTU)
	kept := connect(t, a, far)
	c.agreesWhole("before anything is killed")
	const port = 7000
	burst := *rate * int(nodetest.Pace) / int(time.Second)
	flows := func() [2]*nodetest.Flow {
		return [2]*nodetest.Flow{
			nodetest.SendBursts(t, a.Namespace, far.Namespace, netip.AddrPortFrom(far.addr(), port), "there", burst),
			nodetest.SendBursts(t, far.Namespace, a.Namespace, netip.AddrPortFrom(a.addr(), port), "back", burst),
		}
	}
	for i, row := range []struct {
		process string
		// pattern begins the command line of the process; empty for ovnkube itself.
		pattern string
		// container is the command whose container ends with the process, which the kubelet then starts again; empty where ovnkube keeps the process.
		container string
		// lossless rows lose no packet, but for what a busy machine loses. Of all others limit is how long the gap may be on such a machine.
		lossless bool
		limit    time.Duration
	}{
		{"none", "", "", true, 0},
		{"ovnkube, the agent", "", "ovn-node", true, 0},
		{"ovnkube, the master", "", "ovn-master", true, 0},
		{"ovn-northd", "ovn-northd --ovnnb-db=unix:" + one.run, "run-ovn-northd", true, 0},
		{"ovsdb-server, northbound", "ovsdb-server .*--remote=punix:" + one.run + "/ovn/ovnnb", "nb-ovsdb", true, 0},
		{"ovsdb-server, southbound", "ovsdb-server .*--remote=punix:" + one.run + "/ovn/ovnsb", "sb-ovsdb", true, 0},
		// Without its database ovs-vswitchd does not poll the ports of the userspace datapath. It connects again after a second.
		{"ovsdb-server, Open vSwitch", "ovsdb-server .*--remote=punix:" + one.run + "/ovs/", "", false, time.Minute},
		{"ovn-controller", "ovn-controller unix:" + one.run, "ovn-controller", false, time.Minute},
		{"ovs-vswitchd", "ovs-vswitchd unix:" + one.run, "", false, time.Minute},
	} {
		t.Run(row.process, func(t *testing.T) {
			kill := func() {
				dead := ""
				switch {
				case row.pattern != "":
					if dead = processOf(row.pattern); dead == "" || strings.Contains(dead, "\n") {
						t.Fatalf("the processes are %q", dead)
					}
					netns.Run(t, "kill", "-9", dead)
				case row.container != "":
					one.kill(row.container)
				}
				if row.container != "" {
					eventually.Holds(t, "the container ends", func() (string, bool) { return "", one.ended(row.container) })
					one.start(row.container)
				}
				if row.pattern != "" {
					eventually.Holds(t, "it runs again", func() (string, bool) { now := processOf(row.pattern); return now, now != "" && now != dead })
				}
			}
			for attempt := 1; ; attempt++ {
				both := flows()
				arrive := func(what string) {
					before := [2]int{both[0].Count(), both[1].Count()}
					eventually.Holds(t, what, func() (string, bool) {
						return "", both[0].Count() > before[0]+*rate && both[1].Count() > before[1]+*rate
					})
				}
				arrive("packets arrive")
				kill()
				arrive("packets arrive again")
				one.ready()
				c.agreesWhole("after the end of " + row.process)
				if err := kept.survives(); err != nil {
					t.Errorf("a connection that was open before: %v", err)
				}
				lost, longest := 0, time.Duration(0)
				for _, f := range both {
					n, gap := f.Lost(t)
					lost, longest = lost+n, max(longest, gap)
				}
				t.Logf("%s: %d packets are lost, the longest gap is %s", row.process, lost, longest.Round(time.Millisecond))
				p := one.governedPod(fmt.Sprintf("after-%d-%d", i, attempt))
				nodetest.Reaches(t, p.Namespace, far.addr(), podMTU)
				p.remove()
				c.agreesWhole("after a pod has started and ended")
				if !row.lossless || lost <= fewPackets() {
					if !row.lossless && longest > row.limit {
						t.Errorf("the longest gap is %s", longest)
					}
					return
				}
				if attempt == 3 {
					t.Fatalf("packets are lost each time, %d the last time", lost)
				}
			}
		})
	}
}
