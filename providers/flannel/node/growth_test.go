package node_test

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// TestTheNetworkGrowsWhilePodsTalk replaces agents one after the other, as their rollout does.
func TestTheNetworkGrowsWhilePodsTalk(t *testing.T) {
	seg := newSegment(t)
	small, grown := netip.MustParsePrefix("10.2.0.0/22"), netip.MustParsePrefix("10.2.0.0/20")
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	one.config.Network.IPv4, two.config.Network.IPv4 = small, small
	value, err := one.config.NetworkConfig()
	if err != nil {
		t.Fatal(err)
	}
	seg.put(agentconfig.ConfigKey(prefix), string(value))
	one.ready()
	two.ready()
	before := one.subnet()
	pod1, addr1 := one.pod("cni0")
	pod2, addr2 := two.pod("cni0")
	pings(t, pod1, addr2)
	talk := exec.Command("nsenter", "--net="+pod1.Path(), "ping", "-n", "-q", "-i", "0.05", "-W", "1", addr2.String())
	var output strings.Builder
	talk.Stdout = &output
	if err := talk.Start(); err != nil {
		t.Fatal(err)
	}

	for _, m := range []*machine{one, two} {
		m.stop()
		m.config.Network.IPv4 = grown
		m.ready()
		m.reports("it knows the larger network", func(s agentconfig.AgentStatus) bool { return s.Network == grown })
	}
	// A third subnet is left of the old network, and no fourth: the last node waits until the network has grown in etcd.
	three, four := seg.node("node3", "192.168.0.30"), seg.node("node4", "192.168.0.40")
	three.config.Network.IPv4, four.config.Network.IPv4 = grown, grown
	three.ready()
	if !small.Contains(three.subnet().Addr()) {
		t.Errorf("a node gets %s although %s is all that etcd has", three.subnet(), small)
	}
	four.start()
	four.reports("there is no free subnet", func(s agentconfig.AgentStatus) bool {
		return strings.Contains(strings.Join(s.Errors, " "), "network 10.2.0.0/22 has no free subnet")
	})
	if value, err = one.config.NetworkConfig(); err != nil {
		t.Fatal(err)
	}
	seg.put(agentconfig.ConfigKey(prefix), string(value))
	four.waitReady()
	if s := four.subnet(); small.Contains(s.Addr()) || !grown.Contains(s.Addr()) {
		t.Errorf("the node that did not fit gets %s", s)
	}
	pod4, addr4 := four.pod("cni0")
	pings(t, pod1, addr4)
	pings(t, pod4, addr2)
	seen := whoami(t, pod2, addr2.String()+":8080")
	connect(t, pod4, addr2.String()+":8080")
	if from := <-seen; from != addr4 {
		t.Errorf("a pod of the old network sees one of the new as %s, want %s", from, addr4)
	}
	seen = whoami(t, pod4, addr4.String()+":8080")
	connect(t, pod1, addr4.String()+":8080")
	if from := <-seen; from != addr1 {
		t.Errorf("a pod of the new network sees one of the old as %s, want %s", from, addr1)
	}
	if one.subnet() != before {
		t.Errorf("a node had %s and has %s", before, one.subnet())
	}
	interrupt(t, talk)
	if !strings.Contains(output.String(), " 0% packet loss") {
		t.Errorf("pods that talked meanwhile lost packets:\n%s", output.String())
	}
	t.Log(output.String())
}

// interrupt ends ping so that it prints its summary.
func interrupt(t *testing.T, ping *exec.Cmd) {
	t.Helper()
	if err := ping.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = ping.Wait() // its status reports lost packets, and so does its log
}

// TestNodeThatStartsWithoutEtcdContinuesInALargerNetwork: what it kept is of the smaller one.
func TestNodeThatStartsWithoutEtcdContinuesInALargerNetwork(t *testing.T) {
	seg := newSegment(t)
	m := seg.node("node1", "192.168.0.100")
	m.config.Network.IPv4 = netip.MustParsePrefix("10.2.0.0/22")
	m.ready()
	before := m.subnet()
	m.until("the state is kept", func() (string, bool) {
		data, err := os.ReadFile(filepath.Join(m.config.StateDir, "state.json"))
		return string(data), err == nil
	})
	m.stop()
	m.config.Network.IPv4 = netip.MustParsePrefix("10.2.0.0/20")
	m.config.Etcd.Endpoints = []string{"http://127.0.0.1:1"}
	m.ready()
	if m.subnet() != before {
		t.Errorf("the node had %s and has %s", before, m.subnet())
	}
}

// TestRulesOfTheSmallerNetworkAreRemoved: with iptables, flannel's package leaves rules that it finds where they are.
func TestRulesOfTheSmallerNetworkAreRemoved(t *testing.T) {
	seg := newSegment(t)
	m := seg.node("node1", "192.168.0.100")
	m.config.Network.IPv4 = netip.MustParsePrefix("10.2.0.0/22")
	m.path = t.TempDir() // where there is no nft
	for _, program := range []string{"iptables", "ip6tables", "iptables-restore", "ip6tables-restore", "iptables-save", "ip6tables-save"} {
		file, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, filepath.Join(m.path, program)); err != nil {
			t.Fatal(err)
		}
	}
	m.ready()
	rules := func() string { return m.netns.Run("iptables", "-t", "nat", "-S", "FLANNEL-POSTRTG") }
	has := func(network string) func() (string, bool) {
		return func() (string, bool) {
			out := rules()
			return out, strings.Contains(out, "! -s "+network+" -d "+network)
		}
	}
	m.until("the rules exist", has("10.2.0.0/22"))
	m.stop()
	m.config.Network.IPv4 = netip.MustParsePrefix("10.2.0.0/20")
	m.ready()
	m.until("the rules are for the larger network", has("10.2.0.0/20"))
	if out := rules(); strings.Contains(out, "10.2.0.0/22") {
		t.Errorf("rules of the smaller network are left:\n%s", out)
	}
	m.stop()
	m.cleanup()
	for _, table := range []string{"nat", "filter"} {
		for _, program := range []string{"iptables", "ip6tables"} {
			if out := m.netns.Run(program, "-t", table, "-S"); strings.Contains(out, "FLANNEL") {
				t.Errorf("cleanup has left in table %s of %s:\n%s", table, program, out)
			}
		}
	}
}
