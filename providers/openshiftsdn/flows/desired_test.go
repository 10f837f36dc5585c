package flows_test

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
	sdn "github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// full is an input that uses everything.
func full(mode sdn.Mode) sdn.Input {
	in, other := nodeInput(1, mode), nodeInput(2, mode)
	policyCluster([]*sdn.Input{&in, &other})
	for i, p := range in.Pods {
		if mode == sdn.Subnet {
			in.Pods[i].VNID = 0
		} else if p.Namespace == "b" {
			in.Pods[i].VNID = 0x800011
		}
	}
	in.VNIDs["b"] = 0x800011
	in.ClusterNetworks = append(in.ClusterNetworks, netip.MustParsePrefix("10.160.0.0/16"))
	in.Peers = append(in.Peers, sdn.Peer{Name: "appliance", Address: address(9), Subnet: netip.MustParsePrefix("10.160.2.0/24"), FixedVNID: new(uint32(7))})
	in.Firewalls = []sdn.Firewall{
		{VNID: 10, Name: "EgressNetworkPolicy a/default", Rules: []sdn.FirewallRule{
			{Destinations: []netip.Prefix{netip.MustParsePrefix("198.51.100.7/32"), netip.MustParsePrefix("198.51.100.9/32")}},
			{Destinations: nil},
			{Deny: true, Destinations: []netip.Prefix{netip.MustParsePrefix("198.51.100.7/32"), netip.MustParsePrefix("0.0.0.0/0")}},
		}},
		{VNID: 0x800011, Name: "EgressNetworkPolicy b/one", Closed: "the namespace has two"},
		{VNID: 0, Name: "EgressNetworkPolicy default/default"},
	}
	in.EgressIPs = []sdn.EgressIP{
		{VNID: 10, Name: "namespace a", Nodes: []netip.Addr{address(2), address(9)}},
		{VNID: 0x800011, Name: "namespace b", Local: true},
		{VNID: 12, Name: "namespace c"},
		{VNID: 13, Name: "namespace d", Dropped: "namespace e asks for its egress IP, too"},
		{VNID: 14, Name: "namespace f", Dropped: "it shares its VNID with others", Only: []netip.Addr{netip.MustParseAddr("10.128.2.77")}},
	}
	in.Multicast = []uint32{10, 12}
	return in
}

func desired(t testing.TB, in sdn.Input) sdn.Result {
	t.Helper()
	result, err := sdn.Desired(in)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

var modes = []sdn.Mode{sdn.Subnet, sdn.Multitenant, sdn.NetworkPolicy}

// TestDesired: all flows of a node that uses everything, with what they are for.
func TestDesired(t *testing.T) {
	for _, mode := range modes {
		result := desired(t, full(mode))
		text := result.Flows.Explained()
		for _, p := range result.Problems {
			text += "problem: " + p + "\n"
		}
		golden.Compare(t, filepath.Join("testdata", strings.ToLower(string(mode))+".txt"), []byte(text))
	}
}

// TestFlowsDoNotOverlap: no packet has two flows of one priority to choose from.
func TestFlowsDoNotOverlap(t *testing.T) {
	for _, mode := range modes {
		for _, pair := range desired(t, full(mode)).Flows.Overlaps() {
			t.Errorf("%s: %s", mode, pair)
		}
	}
}

// TestEveryDropHasANote: a trace can show the reason, and Open vSwitch counts the packets.
func TestEveryDropHasANote(t *testing.T) {
	for _, mode := range modes {
		for line := range strings.Lines(desired(t, full(mode)).Flows.Explained()) {
			if strings.Contains(line, "-> drop") && !strings.Contains(line, "# ") {
				t.Errorf("%s: %s has no note", mode, line)
			}
		}
	}
}

func TestContradictions(t *testing.T) {
	peer := func(name string, n int, subnet netip.Prefix) sdn.Peer {
		return sdn.Peer{Name: name, Address: address(n), Subnet: subnet}
	}
	pod := func(name string, port uint32) sdn.Pod {
		return sdn.Pod{ID: netpolicy.ID{Namespace: "a", Name: name}, Address: netip.MustParseAddr("10.128.2.9"), Port: port}
	}
	for _, row := range []struct {
		why     string
		change  func(*sdn.Input)
		problem string
		has     string
	}{
		{"two nodes with one block: the first by name has it", func(in *sdn.Input) { in.Peers = []sdn.Peer{peer("b", 3, block(2)), peer("a", 2, block(2))} },
			"HostSubnet b: its subnet 10.128.4.0/23 overlaps that of a, which keeps it", "table=90,priority=100,ip,nw_dst=10.128.4.0/23 actions=move:NXM_NX_REG0[]->NXM_NX_TUN_ID[0..31],set_field:192.0.2.2->tun_dst,output:1"},
		{"a node with a part of the own block", func(in *sdn.Input) { in.Peers = []sdn.Peer{peer("b", 3, netip.MustParsePrefix("10.128.3.0/24"))} },
			"HostSubnet b: its subnet 10.128.3.0/24 overlaps that of this node, which keeps it", ""},
		{"two nodes with one address for a moment: both keep their blocks", func(in *sdn.Input) { in.Peers = []sdn.Peer{peer("b", 2, block(3)), peer("a", 2, block(2))} },
			"", "table=90,priority=100,ip,nw_dst=10.128.6.0/23 actions=move:NXM_NX_REG0[]->NXM_NX_TUN_ID[0..31],set_field:192.0.2.2->tun_dst,output:1"},
		{"two pods with one address", func(in *sdn.Input) { in.Pods = []sdn.Pod{pod("y", 12), pod("x", 11)} },
			"pod a/y: its address 10.128.2.9 is that of pod a/x, which keeps it", "table=40,priority=100,arp,arp_tpa=10.128.2.9 actions=output:11"},
	} {
		in := nodeInput(1, sdn.NetworkPolicy)
		row.change(&in)
		result := desired(t, in)
		if got := strings.Join(result.Problems, "; "); got != row.problem {
			t.Errorf("%s: the problem is %q", row.why, got)
		}
		if !strings.Contains(result.Flows.String(), row.has) {
			t.Errorf("%s: %s is missing in\n%s", row.why, row.has, result.Flows)
		}
	}
}

// TestEgressNodesKeepTheirConnections: each of several nodes has a share of the connections, and a node that fails moves no connection of another one.
func TestEgressNodesKeepTheirConnections(t *testing.T) {
	slots := func(nodes ...netip.Addr) map[string]string {
		in := nodeInput(1, sdn.NetworkPolicy)
		in.EgressIPs = []sdn.EgressIP{{VNID: 10, Name: "namespace a", Nodes: nodes}}
		out := map[string]string{}
		for line := range strings.Lines(desired(t, in).Flows.String()) {
			if match, actions, is := strings.Cut(line, " actions="); is && strings.Contains(match, "table=102,priority=100,") {
				_, rest, _ := strings.Cut(actions, "set_field:")
				out[match], _, _ = strings.Cut(rest, "->")
			}
		}
		return out
	}
	before, after := slots(address(2), address(3), address(9)), slots(address(9), address(2))
	share := map[string]int{}
	for slot, node := range before {
		share[node]++
		if node != address(3).String() && after[slot] != node {
			t.Errorf("%s moves from %s to %s although %s has failed", slot, node, after[slot], address(3))
		}
	}
	if len(before) != 64 || len(after) != 64 || share[address(2).String()] < 12 || share[address(3).String()] < 12 || share[address(9).String()] < 12 {
		t.Errorf("%d and %d numbers, shares %v", len(before), len(after), share)
	}
}
