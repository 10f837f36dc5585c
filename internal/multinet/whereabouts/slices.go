package whereabouts

import (
	"net/netip"
	"slices"
)

// Slice is the part of a range that a node has, as the NodeSlicePool has it.
type Slice struct {
	Node  string `json:"nodeName"`
	Range string `json:"sliceRange"`
}

// mostSlices bounds the slices without an address that are skipped.
const mostSlices = 1 << 20

// AssignSlices gives each node a slice of a prefix length. A node keeps what it has in held, also while it is deleted, so that it has
// the same slice when it returns. Other nodes get the lowest slice that is free, and then those of deleted nodes, the oldest first, for
// which inUse is false. Slices without an address that may be assigned are skipped. without are the nodes for which there is none.
// What is in held and is no slice of the range is dropped.
func AssignSlices(r Range, bits int, held []Slice, nodes []string, inUse func(Slice) bool) (assigned []Slice, without []string) {
	holder, taken := map[string]bool{}, map[netip.Prefix]bool{}
	for _, s := range held {
		prefix, err := netip.ParsePrefix(s.Range)
		if err != nil || prefix != prefix.Masked() || prefix.Bits() != bits || !hasAddress(r, prefix) || s.Node == "" || holder[s.Node] || taken[prefix] {
			continue
		}
		holder[s.Node], taken[prefix] = true, true
		assigned = append(assigned, s)
	}
	nodes = slices.Compact(slices.Sorted(slices.Values(nodes)))
	next := netip.PrefixFrom(r.First, bits).Masked()
	for _, node := range nodes {
		if holder[node] {
			continue
		}
		for skipped := 0; skipped < mostSlices && (taken[next] || next.IsValid() && !hasAddress(r, next) && next.Addr().Compare(r.Last) <= 0); skipped++ {
			next = netip.PrefixFrom(lastOf(next).Next(), bits)
		}
		if next.IsValid() && hasAddress(r, next) && !taken[next] {
			taken[next] = true
			assigned = append(assigned, Slice{Node: node, Range: next.String()})
			continue
		}
		old := slices.IndexFunc(assigned, func(s Slice) bool {
			_, exists := slices.BinarySearch(nodes, s.Node)
			return !exists && !inUse(s)
		})
		if old < 0 {
			without = append(without, node)
			continue
		}
		slice := Slice{Node: node, Range: assigned[old].Range}
		assigned = append(slices.Delete(assigned, old, old+1), slice)
	}
	return assigned, without
}

func hasAddress(r Range, slice netip.Prefix) bool {
	part, ok := r.Within(slice)
	if !ok {
		return false
	}
	_, ok = part.Next(netip.Addr{}, func(netip.Addr) bool { return false })
	return ok
}
