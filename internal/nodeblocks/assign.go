package nodeblocks

import (
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

// Assign gives each node a block of every IP family that the pools have. A node keeps the blocks that it holds as long as they are
// usable in a pool; of nodes that hold the same block, the first by name keeps it. Other blocks come from the first pool of the family
// that has one left. What nodes hold that are not listed is free. without are the nodes, sorted, that lack a block because all pools of
// a family are exhausted.
func Assign(pools []Pool, held map[string][]netip.Prefix, nodes []string) (blocks map[string][]netip.Prefix, without []string) {
	nodes = slices.Compact(slices.Sorted(slices.Values(nodes)))
	blocks = make(map[string][]netip.Prefix, len(nodes))
	taken := map[netip.Prefix]bool{}
	for _, node := range nodes {
		for _, family := range families(pools) {
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
		for _, family := range families(pools) {
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
		slices.SortFunc(blocks[node], netip.Prefix.Compare)
	}
	maps.DeleteFunc(blocks, func(_ string, b []netip.Prefix) bool { return len(b) == 0 })
	return blocks, slices.Compact(without)
}

// families are those of the pools: true for IPv4.
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
