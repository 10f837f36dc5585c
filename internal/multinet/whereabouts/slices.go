package whereabouts

import (
	"net/netip"
	"slices"
)

// Slice is the part of a range that a node may assign, in the form of a NodeSlicePool.
type Slice struct {
	Node  string `json:"nodeName"`
	Range string `json:"sliceRange"`
}

// maxSkippedSlices bounds the search for a slice with an assignable address.
const maxSkippedSlices = 1 << 20

// AssignSlices assigns a slice of a prefix length to each node. Nodes keep their slices in held, even after they are deleted, so that a node that returns
// has the same slice. Other nodes get the lowest free slice, or else that of a deleted node for which inUse is false, the oldest first. Slices without an
// assignable address are skipped. without has the nodes without a slice. Entries of held that are not slices of the range are dropped.
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
		for skipped := 0; skipped < maxSkippedSlices && (taken[next] || next.IsValid() && !hasAddress(r, next) && next.Addr().Compare(r.Last) <= 0); skipped++ {
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
