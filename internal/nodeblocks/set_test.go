package nodeblocks

import (
	"net/netip"
	"testing"
)

func TestSetFindsOverlapsOfEveryLength(t *testing.T) {
	var s Set
	for _, b := range []string{"10.128.2.0/23", "10.128.16.0/20", "10.128.64.0/25"} {
		if !s.Add(netip.MustParsePrefix(b)) {
			t.Errorf("%s overlaps one that was added before", b)
		}
	}
	for _, test := range []struct {
		reason, block string
		overlaps      bool
	}{
		{"the same block", "10.128.2.0/23", true},
		{"a part of a block", "10.128.3.0/24", true},
		{"a part of a much wider block", "10.128.30.128/25", true},
		{"a block around a smaller one", "10.128.64.0/23", true},
		{"everything", "10.128.0.0/14", true},
		{"the neighbor of a block", "10.128.4.0/23", false},
		{"the other half of a small block's network", "10.128.64.128/25", false},
	} {
		if got := s.Overlaps(netip.MustParsePrefix(test.block)); got != test.overlaps {
			t.Errorf("%s: Overlaps(%s) is %t", test.reason, test.block, got)
		}
	}
	if s.Add(netip.MustParsePrefix("10.128.2.0/23")) {
		t.Error("a block that is added twice overlaps nothing")
	}
}

func TestFirstUsesPoolsInOrder(t *testing.T) {
	pools := []Pool{{netip.MustParsePrefix("10.128.0.0/29"), 30}, {netip.MustParsePrefix("10.130.0.0/28"), 30}}
	var used Set
	want := []string{"10.128.0.4/30", "10.130.0.", "10.130.0.", "10.130.0."}
	for i, prefix := range want {
		b, ok := First(pools, "node", &used)
		if !ok || len(b.String()) < len(prefix) || b.String()[:len(prefix)] != prefix {
			t.Fatalf("block %d is %s (%t), want %s", i, b, ok, prefix)
		}
		used.Add(b)
	}
	if b, ok := First(pools, "node", &used); ok {
		t.Errorf("all blocks are used, and %s is given out", b)
	}
}
