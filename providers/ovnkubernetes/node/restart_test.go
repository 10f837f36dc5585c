package node_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

func TestRestartsOfProcesses(t *testing.T) {
	c := running(t)
	one, two := c.nodes[0], c.nodes[1]
	a, far := one.pod("a"), two.pod("far")
	nodetest.Reaches(t, a.Namespace, far.addr(), podMTU)

	t.Run("the agent is killed during an ADD", func(t *testing.T) {
		p := one.schedule("late")
		added := make(chan error, 1)
		go func() { added <- p.add() }()
		records := func() int {
			files, _ := filepath.Glob(filepath.Join(one.dir, "state", "attachments", "*.json"))
			return len(files)
		}
		eventually.Holds(t, "the ADD waits for addresses", func() (string, bool) { return fmt.Sprint(records()), records() == 2 })
		one.kill("ovn-node")
		if err := <-added; err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("the ADD of an agent that was killed: %v", err)
		}
		nodetest.Reaches(t, a.Namespace, far.addr(), podMTU)
		p.give()
		one.start("ovn-node")
		if err := p.add(); err != nil {
			t.Fatalf("ADD after the restart: %v", err)
		}
		nodetest.Reaches(t, p.Namespace, far.addr(), podMTU)
		if err := a.check(); err != nil {
			t.Errorf("CHECK of an earlier pod: %v", err)
		}
	})
	t.Run("ovs-vswitchd is killed", func(t *testing.T) {
		before := one.vswitchd()
		netns.Run(t, "kill", "-9", before)
		eventually.Holds(t, "it runs again", func() (string, bool) { now := one.vswitchd(); return now, now != "" && now != before })
		nodetest.Reaches(t, a.Namespace, far.addr(), podMTU)
		nodetest.Reaches(t, one.at, a.addr(), podMTU)
	})
	t.Run("Open vSwitch is stopped and started", func(t *testing.T) {
		one.stop("ovs-server")
		one.start("ovs-server")
		nodetest.Reaches(t, a.Namespace, far.addr(), podMTU)
		if err := a.check(); err != nil {
			t.Errorf("CHECK: %v", err)
		}
		one.pod("after")
	})
	t.Run("the database of Open vSwitch is lost", func(t *testing.T) {
		one.stop("ovs-server")
		if err := os.Remove(filepath.Join(one.dir, "ovs", "conf.db")); err != nil {
			t.Fatal(err)
		}
		one.start("ovs-server")
		// OVN 23.03's ovn-controller sometimes crashes when it meets a database without system-id. The kubelet starts its container again.
		eventually.Holds(t, "pods talk again", func() (string, bool) {
			if one.ended("ovn-controller") {
				one.start("ovn-controller")
			}
			out, err := a.Try("ping", "-n", "-c", "1", "-W", "1", far.addr().String())
			return out, err == nil
		})
		nodetest.Reaches(t, a.Namespace, far.addr(), podMTU)
		nodetest.Reaches(t, one.at, a.addr(), podMTU)
		if err := a.check(); err != nil {
			t.Errorf("CHECK: %v", err)
		}
	})
	t.Run("ovn-controller ends and leaves the flows", func(t *testing.T) {
		one.stop("ovn-controller")
		if out, err := a.Try("ping", "-n", "-c", "3", "-i", "0.2", "-W", "5", far.addr().String()); err != nil {
			t.Errorf("without ovn-controller pods do not talk:\n%s", out)
		}
		if out := netns.Run(t, "ovn-sbctl", "--db=unix:"+one.run+"/ovn/ovnsb_db.sock", "show"); !strings.Contains(out, `Chassis node1`) {
			t.Errorf("the node is removed from the southbound database:\n%s", out)
		}
		one.start("ovn-controller")
		nodetest.Reaches(t, one.pod("wired").Namespace, far.addr(), podMTU)
	})
	t.Run("a sandbox ends without DEL", func(t *testing.T) {
		p := one.pod("gone")
		before := one.ports()
		netns.Run(t, "ip", "netns", "del", p.Namespace.Name)
		eventually.Holds(t, "the port is removed", func() (string, bool) {
			now := one.ports()
			return now, len(strings.Fields(now)) == len(strings.Fields(before))-1
		})
	})
	t.Run("a newer sandbox of a pod gets its port", func(t *testing.T) {
		p := one.pod("twice")
		newer := *p
		newer.Namespace = netns.New(t, "newer")
		if err := newer.add(); err != nil {
			t.Fatal(err)
		}
		nodetest.Reaches(t, newer.Namespace, far.addr(), podMTU)
		// The former sandbox still exists. The agent restores ports before routes.
		before := one.ports()
		one.at.Run("ip", "route", "delete", clusterNetwork)
		eventually.Holds(t, "the agent has compared everything", func() (string, bool) {
			routes := one.at.Run("ip", "route", "show", clusterNetwork)
			return routes, strings.Contains(routes, "dev ovn-k8s-mp0")
		})
		if now := one.ports(); now != before {
			t.Errorf("the former sandbox has its port again; ports were\n%sand are\n%s", before, now)
		}
		if err := p.del(); err != nil {
			t.Errorf("DEL of the earlier sandbox: %v", err)
		}
		nodetest.Reaches(t, newer.Namespace, far.addr(), podMTU)
	})
	t.Run("what a third party changes is repaired", func(t *testing.T) {
		for _, harm := range [][]string{
			{"ip", "link", "delete", topology.ManagementLink}, {"ip", "route", "delete", clusterNetwork}, {"ip", "address", "flush", "dev", topology.ManagementLink},
			{"nft", "delete", "table", "ip", "ovn-kubernetes"},
		} {
			one.at.Run(harm...)
			eventually.Holds(t, strings.Join(harm, " ")+" is repaired", func() (string, bool) {
				routes := one.at.Run("ip", "route", "show", clusterNetwork)
				_, err := one.at.Try("nft", "list", "table", "ip", "ovn-kubernetes")
				return routes + fmt.Sprint(err), err == nil && strings.Contains(routes, "via 10.128.0.1 dev ovn-k8s-mp0")
			})
			nodetest.Reaches(t, one.at, far.addr(), podMTU)
		}
	})
}

func TestEventHasTheReasonWhyAPodCannotStart(t *testing.T) {
	c := newCluster(t)
	m := c.node()
	m.central()
	for _, command := range []string{"ovs-server", "ovn-controller", "ovn-node"} {
		m.start(command)
	}
	eventually.Holds(t, "the agent names the Node", func() (string, bool) {
		out, err := m.readyz()
		return out, err != nil && strings.Contains(out, "the Node node1 is not known yet")
	})
	if _, err := os.Stat(filepath.Join(m.dir, "net.d")); err == nil {
		t.Error("the CNI configuration exists before pods can be started")
	}
	m.join(0)
	m.ready()
	p := m.schedule("waiting")
	if err := p.add(); err == nil || !strings.Contains(err.Error(), "the master has not assigned addresses to it yet") {
		t.Fatalf("ADD of a pod without addresses: %v", err)
	}
	eventually.Holds(t, "the pod has an event", func() (string, bool) {
		var events corev1.EventList
		err := c.api.Client.List(t.Context(), &events, client.InNamespace(c.ns))
		for _, e := range events.Items {
			if e.InvolvedObject.Name == "waiting" && e.Reason == "ErrorAddingPodToNetwork" && strings.Contains(e.Message, topology.PodNetworks) {
				return "", true
			}
		}
		return fmt.Sprint(len(events.Items), err), false
	})
}

func TestCleanup(t *testing.T) {
	c := newCluster(t)
	m := c.node()
	m.central()
	m.join(0)
	for _, command := range []string{"ovs-server", "ovn-controller", "ovn-node"} {
		m.start(command)
	}
	m.ready()
	p := m.pod("a")
	if out, err := m.at.Try(append([]string{program, "--cleanup-node", m.name}, m.settings()...)...); err == nil || !strings.Contains(out, "stop the network's pods on this node first") {
		t.Errorf("cleanup of a node that runs: %v\n%s", err, out)
	}
	for _, command := range []string{"ovn-node", "ovn-controller", "ovs-server", "run-ovn-northd", "sb-ovsdb", "nb-ovsdb"} {
		m.stop(command)
	}
	for range 2 {
		if out, err := m.at.Try(append([]string{program, "--cleanup-node", m.name}, m.settings()...)...); err != nil {
			t.Fatal(out)
		}
	}
	if links := m.at.Run("ip", "-br", "link") + p.Run("ip", "-br", "link"); strings.Contains(links, "ovn") || strings.Contains(links, "underlay") || strings.Count(links, "eth0") != 1 {
		t.Errorf("after cleanup there are the interfaces\n%s", links)
	}
	if rules := m.at.Run("nft", "list", "tables"); strings.Contains(rules, "ovn-kubernetes") || strings.Contains(rules, "underlay") {
		t.Errorf("after cleanup there are the tables\n%s", rules)
	}
	if routes := m.at.Run("ip", "route"); strings.Contains(routes, "10.128") {
		t.Errorf("after cleanup there are the routes\n%s", routes)
	}
	for _, path := range []string{filepath.Join(m.dir, "state"), filepath.Join(m.dir, "net.d", "10-ovn-kubernetes.conflist"), filepath.Join(m.dir, "ovs", "conf.db"), m.run + "/cni", "/run/netns/" + m.vswitchNS} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s still exists: %v", path, err)
		}
	}
	if out, err := exec.Command("find", m.run, m.dir, "-name", "*.ctl", "-o", "-name", "*.sock", "-o", "-name", "*.db").Output(); err != nil || len(out) > 0 {
		t.Errorf("after cleanup there are the files\n%s%v", out, err)
	}
}

// kill ends a process of the node as a power failure does, stop as kubelet does.
func (m *machine) kill(command string) { m.processes[command].Kill() }

// ended reports whether a process of the node does not run any more.
func (m *machine) ended(command string) bool { return m.processes[command].Ended() }

func (m *machine) stop(command string) {
	m.t.Helper()
	m.processes[command].Stop(m.t)
}
