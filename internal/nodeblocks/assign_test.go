package nodeblocks_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cluster-network-operator/cno/internal/nodeblocks"
)

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func pool(network string, length int) nodeblocks.Pool {
	return nodeblocks.Pool{Network: netip.MustParsePrefix(network), Length: length}
}

func TestAssign(t *testing.T) {
	v4, second, v6 := pool("10.0.0.0/22", 24), pool("10.9.0.0/23", 24), pool("fd00::/62", 64)
	type blocks = map[string][]netip.Prefix
	for _, tt := range []struct {
		reason  string
		pools   []nodeblocks.Pool
		held    blocks
		nodes   []string
		want    blocks
		without []string
	}{
		{"a node keeps what it holds", []nodeblocks.Pool{v4}, blocks{"a": prefixes("10.0.2.0/24")}, []string{"a"}, blocks{"a": prefixes("10.0.2.0/24")}, nil},
		{"what a deleted node held is free again", []nodeblocks.Pool{second}, blocks{"gone": prefixes("10.9.1.0/24")}, []string{"a"}, blocks{"a": prefixes("10.9.1.0/24")}, nil},
		{"two nodes hold the same block: the first by name keeps it", []nodeblocks.Pool{second},
			blocks{"a": prefixes("10.9.1.0/24"), "b": prefixes("10.9.1.0/24")}, []string{"b", "a"}, blocks{"a": prefixes("10.9.1.0/24")}, []string{"b"}},
		{"a block of another length or network is not kept", []nodeblocks.Pool{second},
			blocks{"a": prefixes("10.9.1.0/25", "192.0.2.0/24")}, []string{"a"}, blocks{"a": prefixes("10.9.1.0/24")}, nil},
		{"a second pool serves when the first is exhausted", []nodeblocks.Pool{second, v4},
			blocks{"a": prefixes("10.9.1.0/24"), "b": prefixes("10.0.3.0/24")}, []string{"a", "b"}, blocks{"a": prefixes("10.9.1.0/24"), "b": prefixes("10.0.3.0/24")}, nil},
		{"a family that was added", []nodeblocks.Pool{v4, v6}, blocks{"a": prefixes("10.0.2.0/24"), "b": prefixes("10.0.1.0/24", "fd00:0:0:1::/64"), "c": prefixes("fd00:0:0:2::/64", "10.0.3.0/24")},
			[]string{"a", "b", "c"}, blocks{
				"a": prefixes("10.0.2.0/24", "fd00:0:0:3::/64"), "b": prefixes("10.0.1.0/24", "fd00:0:0:1::/64"), "c": prefixes("10.0.3.0/24", "fd00:0:0:2::/64"),
			}, nil},
		{"IPv6 is the first family", []nodeblocks.Pool{v6, v4}, blocks{"a": prefixes("10.0.2.0/24"), "b": prefixes("10.0.1.0/24", "fd00:0:0:1::/64")}, []string{"a", "b"}, blocks{
			"a": prefixes("fd00:0:0:2::/64", "10.0.2.0/24"), "b": prefixes("fd00:0:0:1::/64", "10.0.1.0/24"),
		}, nil},
		{"exhausted in one family only: what there is is given", []nodeblocks.Pool{second, v6}, blocks{"a": prefixes("10.9.1.0/24", "fd00:0:0:1::/64"), "b": prefixes("fd00:0:0:2::/64")},
			[]string{"a", "b"}, blocks{"a": prefixes("10.9.1.0/24", "fd00:0:0:1::/64"), "b": prefixes("fd00:0:0:2::/64")}, []string{"b"}},
		{"a node that is listed twice", []nodeblocks.Pool{second}, nil, []string{"a", "a"}, blocks{"a": prefixes("10.9.1.0/24")}, nil},
		{"no pools", nil, blocks{"a": prefixes("10.9.1.0/24")}, []string{"a"}, blocks{}, nil},
	} {
		got, without := nodeblocks.Assign(tt.pools, tt.held, tt.nodes)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if diff := cmp.Diff(tt.without, without); diff != "" {
			t.Errorf("%s: nodes without a block (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestAssignIsStableWhileNodesComeAndGo(t *testing.T) {
	pools := []nodeblocks.Pool{pool("10.128.0.0/14", 23)}
	held := map[string][]netip.Prefix{}
	var nodes []string
	for i := range 500 {
		nodes = append(nodes, fmt.Sprintf("node-%d", i))
		if i%7 == 3 {
			nodes = nodes[1:]
		}
		next, without := nodeblocks.Assign(pools, held, nodes)
		if len(without) > 0 || len(next) != len(nodes) {
			t.Fatalf("%d of %d nodes have blocks; without: %v", len(next), len(nodes), without)
		}
		owner := map[netip.Prefix]string{}
		for node, blocks := range next {
			if before := held[node]; before != nil && before[0] != blocks[0] {
				t.Fatalf("%s had %s and has %s", node, before[0], blocks[0])
			}
			if other := owner[blocks[0]]; other != "" {
				t.Fatalf("%s and %s have %s", node, other, blocks[0])
			}
			owner[blocks[0]] = node
		}
		held = next
	}
}

func BenchmarkAssign(b *testing.B) {
	pools := []nodeblocks.Pool{pool("10.0.0.0/8", 24)}
	var nodes []string
	for i := range 5000 {
		nodes = append(nodes, fmt.Sprintf("node-%d", i))
	}
	held, _ := nodeblocks.Assign(pools, nil, nodes[1:])
	for b.Loop() {
		nodeblocks.Assign(pools, held, nodes)
	}
}
