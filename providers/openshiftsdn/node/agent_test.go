package node_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

func TestPodsTalk(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	a, b, far := one.pod("one", "a", nil), one.pod("one", "b", nil), two.pod("two", "far", nil)
	for _, p := range []*pod{a, b, far} {
		nodetest.Serve(t, p.Namespace, ":8080")
	}
	t.Run("pods of one node and of two", func(t *testing.T) {
		for _, p := range []*pod{b, far} {
			nodetest.Reaches(t, a.Namespace, p.address, podMTU)
			if got := nodetest.Answers(t, a.Namespace, p.address.String()+":8080"); got != a.address.String() {
				t.Errorf("%s sees %s as the client, which is %s", p.name, got, a.address)
			}
		}
		nodetest.Reaches(t, far.Namespace, b.address, podMTU)
	})
	t.Run("nodes reach pods, and pods nodes", func(t *testing.T) {
		for _, m := range c.nodes {
			for _, p := range []*pod{a, far} {
				nodetest.Reaches(t, m.at, p.address, podMTU)
				nodetest.Answers(t, m.at, p.address.String()+":8080")
				nodetest.Reaches(t, p.Namespace, m.address, podMTU)
			}
		}
	})
	t.Run("pods leave the cluster with the address of their node", func(t *testing.T) {
		outside := netns.New(t, "outside")
		c.link.Run("ip", "link", "add", "outside", "type", "veth", "peer", "name", "eth0", "netns", outside.Name)
		c.link.Run("ip", "link", "set", "outside", "master", "sw0", "up")
		outside.Run("ip", "address", "add", "192.0.2.100/24", "dev", "eth0")
		outside.Run("ip", "link", "set", "eth0", "up")
		nodetest.Serve(t, outside, ":80")
		for _, p := range []*pod{a, far} {
			if got := nodetest.Answers(t, p.Namespace, "192.0.2.100:80"); got != p.m.address.String() {
				t.Errorf("the server outside sees %s, the node of the pod is %s", got, p.m.address)
			}
		}
	})
	t.Run("host ports", func(t *testing.T) {
		p := one.schedule("one", "mapped", nil)
		p.hostPorts = map[int]int{8080: 30080}
		if err := p.add(); err != nil {
			t.Fatal(err)
		}
		nodetest.Serve(t, p.Namespace, ":8080")
		nodetest.Answers(t, two.at, one.address.String()+":30080")
		nodetest.Answers(t, far.Namespace, one.address.String()+":30080")
	})
	t.Run("large datagrams", func(t *testing.T) {
		for _, p := range []*pod{b, far} {
			if out, err := a.Try("ping", "-n", "-c", "2", "-s", "4000", "-W", "5", p.address.String()); err != nil {
				t.Errorf("fragments do not reach %s:\n%s", p.name, out)
			}
		}
	})
	t.Run("CHECK finds what differs", func(t *testing.T) { checkFindsDifferences(t, one) })
	t.Run("repeated requests", func(t *testing.T) {
		before := a.address
		if err := a.add(); err != nil || a.address != before {
			t.Errorf("ADD again: %s, %v", a.address, err)
		}
		if err := a.check(); err != nil {
			t.Errorf("CHECK: %v", err)
		}
		for range 2 {
			if err := b.del(); err != nil {
				t.Errorf("DEL: %v", err)
			}
		}
		if out := b.Run("ip", "-br", "link"); strings.Contains(out, "eth0") {
			t.Errorf("after DEL the pod has %s", out)
		}
		if _, err := os.Stat(filepath.Join(one.config.AddressDir, agentconfig.Plugin, b.address.String())); !os.IsNotExist(err) {
			t.Errorf("after DEL the address is not free: %v", err)
		}
	})
}

// checkFindsDifferences changes each thing that an ADD installs.
func checkFindsDifferences(t *testing.T, m *machine) {
	bridge := "unix:" + m.config.SwitchRunDir + "/" + agentconfig.Bridge + ".mgmt"
	for i, row := range []struct {
		why    string
		change func(p *pod)
		want   string
	}{
		{"the interface is down", func(p *pod) { p.Run("ip", "link", "set", "eth0", "down") }, "interface eth0 is down"},
		{"another MTU", func(p *pod) { p.Run("ip", "link", "set", "eth0", "mtu", "1300") }, "interface eth0 has MTU 1300 instead of 1450"},
		{"another MAC address", func(p *pod) { p.Run("ip", "link", "set", "eth0", "address", "02:00:00:00:00:07") }, "interface eth0 has MAC address 02:00:00:00:00:07 instead of"},
		{"no address", func(p *pod) { p.Run("ip", "address", "flush", "dev", "eth0") }, "interface eth0 lacks address"},
		{"no route", func(p *pod) { p.Run("ip", "route", "flush", "exact", "default") }, "interface eth0 lacks the route to 0.0.0.0/0"},
		{"no interface", func(p *pod) { _, _ = p.Try("ip", "link", "set", "eth0", "name", "other") }, "find interface eth0"},
		// The agent restores flows: one of the calls comes before it.
		{"no flow", func(p *pod) {
			netns.Run(t, "ovs-ofctl", "-O", "OpenFlow14", "del-flows", bridge, "arp,arp_tpa="+p.address.String())
		}, "flows of bridge br0 for the pod with address"},
	} {
		p := m.pod("one", fmt.Sprintf("check-%d", i), nil)
		if err := p.check(); err != nil {
			t.Errorf("%s: CHECK before it: %v", row.why, err)
		}
		eventually.Holds(t, "CHECK fails: "+row.why, func() (string, bool) {
			row.change(p)
			err := p.check()
			return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), row.want)
		})
		if err := p.del(); err != nil {
			t.Errorf("%s: DEL: %v", row.why, err)
		}
	}
}

// stream sends packets from a pod to another one until it is stopped, and returns how many of how many were lost.
func stream(t *testing.T, from, to *pod) func() (lost, sent int) {
	t.Helper()
	stop := make(chan struct{})
	type result struct{ lost, sent int }
	done := make(chan result, 1)
	go func() {
		var r result
		for {
			select {
			case <-stop:
				done <- r
				return
			default:
			}
			out, err := from.Try("ping", "-n", "-q", "-i", "0.02", "-c", "50", "-W", "10", to.address.String())
			var sent, received int
			if i := strings.Index(out, "packets transmitted"); i > 0 {
				_, _ = fmt.Sscanf(out[strings.LastIndex(out[:i], "\n")+1:], "%d packets transmitted, %d received", &sent, &received)
			} else if err != nil {
				t.Errorf("ping: %s", out)
			}
			r.sent, r.lost = r.sent+sent, r.lost+sent-received
		}
	}()
	return func() (int, int) { close(stop); r := <-done; return r.lost, r.sent }
}

func TestRestartsOfProcesses(t *testing.T) {
	_, one, two := running(t, agentconfig.NetworkPolicy)
	a, b, far := one.pod("one", "a", nil), one.pod("one", "b", nil), two.pod("two", "far", nil)
	nodetest.Reaches(t, a.Namespace, far.address, podMTU)
	nodetest.Reaches(t, a.Namespace, b.address, podMTU)
	t.Run("the agent is killed and started: no packet is lost", func(t *testing.T) {
		// A busy machine may lose some packets of its own: what the agent loses is lost each time.
		for attempt := 1; ; attempt++ {
			end, near := stream(t, a, far), stream(t, a, b)
			one.agent.Kill()
			one.startAgent()
			one.ready()
			eventually.Holds(t, "a pod starts", func() (string, bool) {
				err := one.schedule("one", "after-"+fmt.Sprint(time.Now().UnixNano()), nil).add()
				return fmt.Sprint(err), err == nil
			})
			lostFar, sentFar := end()
			lostNear, sentNear := near()
			if sentFar < 50 || sentNear < 50 {
				t.Fatalf("only %d and %d packets were sent", sentFar, sentNear)
			}
			if lostFar+lostNear == 0 {
				break
			}
			t.Logf("lost: %d of %d packets to the other node, %d of %d on the node", lostFar, sentFar, lostNear, sentNear)
			if attempt == 3 {
				t.Fatal("packets are lost each time")
			}
		}
		if err := a.check(); err != nil {
			t.Errorf("CHECK: %v", err)
		}
	})
	t.Run("ovs-vswitchd is killed", func(t *testing.T) {
		before := one.vswitchd()
		netns.Run(t, "kill", "-9", before)
		eventually.Holds(t, "it runs again", func() (string, bool) { now := one.vswitchd(); return now, now != "" && now != before })
		nodetest.Reaches(t, a.Namespace, far.address, podMTU)
		nodetest.Reaches(t, one.at, a.address, podMTU)
	})
	t.Run("Open vSwitch is stopped and started while the agent does not run, and there is no API server", func(t *testing.T) {
		one.agent.Stop(t)
		one.switchd.Stop(t)
		one.startSwitch()
		kubeconfig := one.kubeconfig
		one.kubeconfig = filepath.Join(t.TempDir(), "none")
		content, err := os.ReadFile(kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(one.kubeconfig, []byte(strings.ReplaceAll(string(content), one.api.Config.Host, "https://192.0.2.250:6443")), 0o600); err != nil {
			t.Fatal(err)
		}
		one.startAgent()
		nodetest.Reaches(t, a.Namespace, b.address, podMTU)
		nodetest.Reaches(t, far.Namespace, a.address, 576) // the next hop of tunnels is known from the time when objects are
		one.agent.Stop(t)
		one.kubeconfig = kubeconfig
		one.startAgent()
		one.ready()
	})
	for _, damage := range []struct {
		why    string
		damage func(file string) error
	}{
		{"deleted", os.Remove},
		{"emptied", func(file string) error { return os.Truncate(file, 0) }},
		{"overwritten", func(file string) error { return os.WriteFile(file, []byte("something else\n"), 0o600) }},
	} {
		for _, end := range []struct {
			why string
			end func(damage func())
		}{
			{"the pod restarts", func(damage func()) { one.switchd.Stop(t); damage(); one.startSwitch() }},
			{"ovsdb-server is killed", func(damage func()) {
				damage()
				netns.Run(t, "kill", "-9", one.process("ovsdb-server "+one.config.SwitchDataDir))
			}},
		} {
			t.Run("the database of Open vSwitch is "+damage.why+", and "+end.why, func(t *testing.T) {
				before := one.databaseID(t)
				end.end(func() {
					if err := damage.damage(filepath.Join(one.config.SwitchDataDir, "conf.db")); err != nil {
						t.Fatal(err)
					}
				})
				eventually.Holds(t, "there is a database again", func() (string, bool) {
					now := one.databaseID(t)
					return now, now != "" && now != before
				})
				nodetest.Reaches(t, a.Namespace, far.address, podMTU)
				nodetest.Reaches(t, one.at, a.address, podMTU)
				one.ready()
				eventually.Holds(t, "CHECK passes, and a pod starts", func() (string, bool) {
					err := errors.Join(a.check(), one.schedule("one", "after-"+fmt.Sprint(time.Now().UnixNano()), nil).add())
					return fmt.Sprint(err), err == nil
				})
			})
		}
	}
	t.Run("the agent is not ready while there is no Open vSwitch", func(t *testing.T) {
		one.switchd.Stop(t)
		eventually.Holds(t, "it is not ready, with the reason", func() (string, bool) {
			out, err := one.readyz()
			return out, err != nil && strings.Contains(out, "open vswitch is unreachable")
		})
		one.startSwitch()
		one.ready()
		nodetest.Reaches(t, a.Namespace, far.address, podMTU)
	})
	t.Run("a sandbox ends without DEL", func(t *testing.T) {
		p := one.pod("one", "gone", nil)
		netns.Run(t, "ip", "netns", "del", p.Namespace.Name)
		eventually.Holds(t, "its port is removed", func() (string, bool) {
			out := netns.Run(t, "ovs-vsctl", "--db=unix:"+one.config.SwitchRunDir+"/db.sock", "--bare", "--columns=name", "find", "Interface", "external_ids:pod-name=gone")
			return out, strings.TrimSpace(out) == ""
		})
	})
	t.Run("what a third party removes is restored", func(t *testing.T) {
		one.at.Run("ip", "address", "flush", "dev", "tun0")
		one.at.Run("nft", "flush", "ruleset")
		eventually.Holds(t, "rules and addresses are there", func() (string, bool) {
			out, err := one.at.Try("nft", "list", "chain", "ip", "openshift-sdn", "leaving")
			return out, err == nil && strings.Contains(out, "masquerade")
		})
		nodetest.Reaches(t, one.at, a.address, podMTU)
		nodetest.Reaches(t, one.at, far.address, podMTU)
	})
	t.Run("cleanup leaves nothing", func(t *testing.T) {
		one.agent.Stop(t)
		one.switchd.Stop(t)
		one.at.Run(program, "cleanup", "--config", one.file)
		if out := one.at.Run("ip", "-br", "link"); strings.Contains(out, "tun0") || strings.Contains(out, "ovs-underlay") {
			t.Errorf("interfaces are left:\n%s", out)
		}
		if out := one.at.Run("nft", "list", "tables"); strings.Contains(out, "openshift-sdn") || strings.Contains(out, "cno-ovs") {
			t.Errorf("rules are left:\n%s", out)
		}
		for _, left := range []string{"/run/netns/" + one.config.SwitchNamespace, filepath.Join(one.config.CNI.ConfDir, agentconfig.ConfigurationList), filepath.Join(one.config.AddressDir, agentconfig.Plugin)} {
			if _, err := os.Stat(left); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", left, err)
			}
		}
	})
}
