package egressip_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
)

func addresses(text string) []netip.Addr {
	var out []netip.Addr
	for _, a := range strings.Fields(text) {
		out = append(out, netip.MustParseAddr(full(a)))
	}
	return out
}

func TestHold(t *testing.T) {
	for _, row := range []struct {
		why                               string
		network                           string
		unplugged                         bool
		held, claims, keep, take, refused string
	}{
		{why: "what it has stays, the rest is taken", claims: ".1 .2", held: ".2", keep: ".2", take: ".1"},
		{why: "what no namespace uses is not kept", held: ".9"},
		{why: "an address of the node itself", claims: ".201", refused: "egress IP 192.0.2.201 is an address of the node itself: choose one that no host has"},
		{why: "an address of another interface", claims: "203.0.113.7", refused: "egress IP 203.0.113.7 is an address of the node itself: choose one that no host has"},
		{why: "outside of the network of the interface", claims: "198.51.100.1", refused: "egress IP 198.51.100.1 is outside 192.0.2.0/24, the network of interface eth0: choose one of that network"},
		{why: "the address of the network", claims: ".0", refused: "egress IP 192.0.2.0 is not the address of a host in 192.0.2.0/24, the network of interface eth0: choose another one"},
		{why: "that of broadcast", claims: ".255", refused: "egress IP 192.0.2.255 is not the address of a host in 192.0.2.0/24, the network of interface eth0: choose another one"},
		{why: "the node is unplugged: another one may have its addresses by now", unplugged: true, held: ".1", claims: ".1", refused: "egress IP 192.0.2.1 has no place: interface eth0 is not connected"},
		{why: "no interface has the address of the node", network: "none", claims: ".1", refused: "egress IP 192.0.2.1 has no place: no interface of the node has the hostIP of its HostSubnet"},
		{why: "two addresses whose marks are equal", network: "192.0.0.0/8", claims: "192.1.2.1 192.3.2.1", take: "192.1.2.1", refused: "egress IP 192.3.2.1 cannot be beside 192.1.2.1, whose last 16 bits are the same: move one of them to another node"},
		{why: "an address whose mark would be none", network: "192.0.0.0/8", claims: "192.7.0.0", refused: "egress IP 192.7.0.0 ends with 0.0 or 255.255, which no mark of packets can have: choose another one"},
		{why: "and the mark of the guard", network: "192.0.0.0/8", claims: "192.7.255.255", refused: "egress IP 192.7.255.255 ends with 0.0 or 255.255, which no mark of packets can have: choose another one"},
	} {
		k := egressip.Kernel{
			Interface: egressip.Interface{Name: "eth0", Network: netip.MustParsePrefix("192.0.2.201/24"), Carrier: !row.unplugged},
			Own:       addresses("192.0.2.201 203.0.113.7 127.0.0.1"), Held: addresses(row.held),
		}
		switch row.network {
		case "":
		case "none":
			k.Interface = egressip.Interface{}
		default:
			k.Interface.Network = netip.MustParsePrefix(row.network)
		}
		var claims []egressip.Claim
		for i, a := range addresses(row.claims) {
			claims = append(claims, egressip.Claim{Address: a, VNID: uint32(10 + i), Namespace: fmt.Sprint("n", i)})
		}
		h := egressip.Hold(claims, k, 14)
		list := func(all []egressip.Claim) string {
			var out []string
			for _, c := range all {
				out = append(out, strings.TrimPrefix(c.Address.String(), "192.0.2"))
			}
			return strings.Join(out, " ")
		}
		var refused []string
		for _, r := range h.Refused {
			refused = append(refused, r.Reason)
		}
		if diff := cmp.Diff([]string{row.keep, row.take, row.refused}, []string{list(h.Keep), list(h.Take), strings.Join(refused, "; ")}); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

// TestMarks: marks of addresses of a network differ, none is 0 or that of the guard, and none has a bit of kube-proxy, the kubelet or portmap.
func TestMarks(t *testing.T) {
	for _, bit := range []int{0, 14, 16, 27, 31} {
		used := uint32(1)<<bit | 1<<13 | 1<<14 | 1<<15
		mask, guard, seen := egressip.MarkMask(bit), egressip.DropMark(bit), map[uint32]bool{0: true, egressip.DropMark(bit): true}
		if mask&used != 0 || guard&^mask != 0 {
			t.Errorf("bit %d: mask %#x, guard %#x", bit, mask, guard)
		}
		for i := 1; i < 0xffff; i++ {
			m := egressip.Mark(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}), bit)
			if seen[m] || m&^mask != 0 {
				t.Fatalf("bit %d: the mark %#x of ..%d.%d", bit, m, i>>8, i&0xff)
			}
			seen[m] = true
		}
	}
}
