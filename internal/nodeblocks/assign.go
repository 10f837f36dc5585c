package nodeblocks

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// Pool is a network that is divided into blocks.
type Pool struct {
	Network netip.Prefix
	// Length is the prefix length of the blocks.
	Length int
}

// Assign assigns each node a block of every IP family of the pools. A node keeps the blocks that it holds while they are usable in
// a pool; if several nodes hold the same block, the first by name keeps it. Other blocks come from the first pool of the family
// with a free one. The blocks of a node have the order in which their families first appear in the pools. Blocks of nodes that are
// not listed are free. without are the sorted nodes without a block because all pools of a family are exhausted.
func Assign(pools []Pool, held map[string][]netip.Prefix, nodes []string) (blocks map[string][]netip.Prefix, without []string) {
	nodes = slices.Compact(slices.Sorted(slices.Values(nodes)))
	blocks = make(map[string][]netip.Prefix, len(nodes))
	taken, order := map[netip.Prefix]bool{}, families(pools)
	for _, node := range nodes {
		for _, family := range order {
			i := slices.IndexFunc(held[node], func(b netip.Prefix) bool {
				return b.Addr().Is4() == family && !taken[b] && slices.ContainsFunc(pools, func(p Pool) bool { return Usable(p.Network, p.Length, b) })
			})
			if i >= 0 {
				taken[held[node][i]] = true
				blocks[node] = append(blocks[node], held[node][i])
			}
		}
	}
	for _, node := range nodes {
		for _, family := range order {
			if slices.ContainsFunc(blocks[node], func(b netip.Prefix) bool { return b.Addr().Is4() == family }) {
				continue
			}
			if block, ok := first(pools, family, node, taken); ok {
				taken[block] = true
				blocks[node] = append(blocks[node], block)
			} else {
				without = append(without, node)
			}
		}
		slices.SortFunc(blocks[node], func(a, b netip.Prefix) int {
			return cmp.Compare(slices.Index(order, a.Addr().Is4()), slices.Index(order, b.Addr().Is4()))
		})
	}
	maps.DeleteFunc(blocks, func(_ string, b []netip.Prefix) bool { return len(b) == 0 })
	return blocks, slices.Compact(without)
}

// families returns the IP families of the pools in their order: true for IPv4.
func families(pools []Pool) []bool {
	var out []bool
	for _, p := range pools {
		if is4 := p.Network.Addr().Is4(); !slices.Contains(out, is4) {
			out = append(out, is4)
		}
	}
	return out
}

func first(pools []Pool, family bool, node string, taken map[netip.Prefix]bool) (netip.Prefix, bool) {
	for _, p := range pools {
		if p.Network.Addr().Is4() != family {
			continue
		}
		if block, ok := pick(p.Network, p.Length, node, func(b netip.Prefix) bool { return !taken[b] }); ok {
			return block, true
		}
	}
	return netip.Prefix{}, false
}
