package flows_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	sdn "github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// many returns peers with addresses and blocks of their own.
func many(n int) []sdn.Peer {
	var out []sdn.Peer
	for i := range n {
		out = append(out, sdn.Peer{
			Name: fmt.Sprintf("node-%05d", i), Address: netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}),
			Subnet: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(129 + i>>8), byte(i), 0}), 24),
		})
	}
	return out
}

// TestMulticastGroups: nodes are copied to in groups, since one flow has room for 744.
func TestMulticastGroups(t *testing.T) {
	for _, row := range []struct {
		why       string
		mode      sdn.Mode
		multicast []uint32
		peers     int
		groups    int
		spread    bool
	}{
		{"multicast is not enabled: nothing names all nodes", sdn.NetworkPolicy, nil, 1000, 0, false},
		{"mode Subnet has no multicast", sdn.Subnet, []uint32{10}, 1000, 0, false},
		{"the only node", sdn.NetworkPolicy, []uint32{10}, 0, 0, true},
		{"two nodes", sdn.Multitenant, []uint32{10}, 1, 1, true},
		{"a full group", sdn.NetworkPolicy, []uint32{10}, 400, 1, true},
		{"one node more", sdn.NetworkPolicy, []uint32{10}, 401, 2, true},
		{"a large cluster", sdn.Multitenant, []uint32{10, 11}, 5000, 13, true},
	} {
		in := nodeInput(1, row.mode)
		in.Multicast, in.Peers = row.multicast, many(row.peers)
		groups, copies, spread := 0, 0, false
		for line := range strings.Lines(desired(t, in).Flows.String()) {
			if strings.Contains(line, "table=112,") {
				groups++
				copies += strings.Count(line, "->tun_dst")
			}
			spread = spread || strings.Contains(line, "table=111,")
		}
		want := 0
		if row.spread {
			want = row.peers
		}
		if groups != row.groups || copies != want || spread != row.spread {
			t.Errorf("%s: %d copies in %d groups, spread %t; want %d copies in %d groups, spread %t", row.why, copies, groups, spread, want, row.groups, row.spread)
		}
	}
}

// TestMulticastReachesAllNodes: Open vSwitch takes the flows of a cluster of 5,001 nodes, and copies a packet to each of the others once, and to the pods of the
// VNID.
func TestMulticastReachesAllNodes(t *testing.T) {
	n := newSwitch(t).node(1, sdn.NetworkPolicy)
	n.input.Peers, n.input.Multicast = many(5000), []uint32{10}
	sender, receiver := n.pod("stream", "a", 5, 10), n.pod("stream", "b", 6, 10)
	n.apply()
	o := n.send(fmt.Sprintf("in_port=%d,udp,nw_src=%s,nw_dst=239.1.1.1", sender.Port, sender.Address))
	copies := map[netip.Addr]int{}
	for _, to := range o.tunnels {
		copies[to]++
	}
	for _, p := range n.input.Peers {
		if copies[p.Address] != 1 {
			t.Fatalf("node %s gets %d copies", p.Name, copies[p.Address])
		}
	}
	if len(o.tunnels) != 5000 || o.vnid != 10 || fmt.Sprint(o.ports) != fmt.Sprintf("[%d %d]", sender.Port, receiver.Port) {
		t.Errorf("%d copies with VNID %d, and ports %v", len(o.tunnels), o.vnid, o.ports)
	}
}
