package openflow_test

import (
	"net/netip"
	"testing"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

func TestOverlaps(t *testing.T) {
	type matches = []openflow.Match
	cidr := netip.MustParsePrefix
	port := func(number, mask uint16) openflow.Match {
		return openflow.DestinationPort(openflow.PortMask{Port: number, Mask: mask})
	}
	for _, row := range []struct {
		why      string
		a, b     matches
		overlaps bool
	}{
		{"everything contains a port", nil, matches{openflow.InPort(1)}, true},
		{"two ports", matches{openflow.InPort(1)}, matches{openflow.InPort(2)}, false},
		{"a port and an address have packets in common", matches{openflow.InPort(1), openflow.Is(openflow.IP)}, matches{openflow.Is(openflow.IP), openflow.Source(cidr("10.0.0.0/8"))}, true},
		{"no packet has two protocols", matches{openflow.Is(openflow.ARP)}, matches{openflow.Is(openflow.TCP)}, false},
		{"TCP is IP", matches{openflow.Is(openflow.IP)}, matches{openflow.Is(openflow.TCP)}, true},
		{"TCP is not UDP", matches{openflow.Is(openflow.TCP)}, matches{openflow.Is(openflow.UDP)}, false},
		{"a range contains a part of it", matches{openflow.Is(openflow.IP), openflow.Destination(cidr("10.0.0.0/8"))}, matches{openflow.Is(openflow.IP), openflow.Destination(cidr("10.1.0.0/16"))}, true},
		{"two ranges", matches{openflow.Is(openflow.IP), openflow.Destination(cidr("10.0.0.0/16"))}, matches{openflow.Is(openflow.IP), openflow.Destination(cidr("10.1.0.0/16"))}, false},
		{"source and destination differ", matches{openflow.Is(openflow.IP), openflow.Source(cidr("10.0.0.0/16"))}, matches{openflow.Is(openflow.IP), openflow.Destination(cidr("10.1.0.0/16"))}, true},
		{"two ranges of IPv6", matches{openflow.Is(openflow.IPv6), openflow.Source(cidr("fd01::/80"))}, matches{openflow.Is(openflow.IPv6), openflow.Source(cidr("fd01:0:0:0:1::/80"))}, false},
		{"masks of ports", matches{openflow.Is(openflow.TCP), port(0x1770, 0xfff0)}, matches{openflow.Is(openflow.TCP), port(0x1777, 0xffff)}, true},
		{"other masks of ports", matches{openflow.Is(openflow.TCP), port(0x1770, 0xfff0)}, matches{openflow.Is(openflow.TCP), port(0x1780, 0xffff)}, false},
		{"states of connections that exclude one another", matches{openflow.Is(openflow.IP), openflow.ConnectionState("+trk+rpl")}, matches{openflow.Is(openflow.IP), openflow.ConnectionState("-rpl")}, false},
		{"states of connections that do not", matches{openflow.Is(openflow.IP), openflow.ConnectionState("+trk")}, matches{openflow.Is(openflow.IP), openflow.ConnectionState("-rpl")}, true},
		{"registers", matches{openflow.Register(0, 1, 0xff)}, matches{openflow.Register(0, 0x101, 0xffff)}, true},
		{"hardware addresses", matches{openflow.EthSource([]byte{2, 0, 0, 0, 0, 1})}, matches{openflow.EthSource([]byte{2, 0, 0, 0, 0, 2})}, false},
		{"multicast and one of its addresses", matches{openflow.Multicast()}, matches{openflow.EthDestination([]byte{1, 0, 0x5e, 0, 0, 1})}, true},
	} {
		one := openflow.Flow{Priority: 5, Match: row.a}
		other := openflow.Flow{Priority: 5, Match: row.b, Actions: []openflow.Action{openflow.Output(1)}}
		s, err := openflow.NewSet(one, other)
		if err != nil {
			t.Fatalf("%s: %v", row.why, err)
		}
		if got := s.Overlaps(); (len(got) > 0) != row.overlaps {
			t.Errorf("%s: overlaps are %q", row.why, got)
		}
		for why, harmless := range map[string]openflow.Flow{
			"the same actions": {Priority: 5, Match: row.b},
			"another priority": {Priority: 6, Match: row.b, Actions: other.Actions},
			"another table":    {Table: 1, Priority: 5, Match: row.b, Actions: other.Actions},
		} {
			s, err := openflow.NewSet(one, harmless)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Overlaps(); len(got) > 0 {
				t.Errorf("%s, %s: overlaps are %q", row.why, why, got)
			}
		}
	}
	a, b := openflow.Conjunction(1, 1, 2), openflow.Conjunction(2, 1, 2)
	whole := openflow.Flow{Match: matches{openflow.Is(openflow.IP), openflow.ConjunctionID(1)}, Actions: []openflow.Action{openflow.Output(1)}}
	s, err := openflow.NewSet(whole, openflow.Flow{Match: matches{openflow.Is(openflow.IP)}, Actions: []openflow.Action{a}}, openflow.Flow{Match: matches{openflow.Is(openflow.TCP)}, Actions: []openflow.Action{b}})
	if err != nil || len(s.Overlaps()) > 0 {
		t.Errorf("flows of two conjunctions: %q, %v", s.Overlaps(), err)
	}
}
