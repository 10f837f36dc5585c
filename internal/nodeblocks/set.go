package nodeblocks

import "net/netip"

// Set is a set of blocks of any length. The zero value is empty.
type Set struct {
	blocks map[netip.Prefix]bool
	// lengths has the number of blocks of each length.
	lengths map[int]int
}

// Add adds a block, whose host bits must be 0. It reports whether the block overlaps no block that was in the set before.
func (s *Set) Add(block netip.Prefix) (alone bool) {
	if s.blocks == nil {
		s.blocks, s.lengths = map[netip.Prefix]bool{}, map[int]int{}
	}
	alone = !s.Overlaps(block)
	if !s.blocks[block] {
		s.blocks[block] = true
		s.lengths[block.Bits()]++
	}
	return alone
}

// Overlaps reports whether a block shares addresses with one of the set. It takes constant time if no block of the set is shorter than
// this one, and time proportional to the set otherwise.
func (s *Set) Overlaps(block netip.Prefix) bool {
	longer := false
	for length := range s.lengths {
		if length > block.Bits() {
			longer = true
			continue
		}
		if wider, err := block.Addr().Prefix(length); err == nil && s.blocks[wider] {
			return true
		}
	}
	if longer {
		for b := range s.blocks {
			if b.Overlaps(block) {
				return true
			}
		}
	}
	return false
}

// First returns a block for a node from the first pool with a block that overlaps no block of the set; ok is false if there is none. It is
// the block that Pick returns.
func First(pools []Pool, node string, used *Set) (block netip.Prefix, ok bool) {
	for _, p := range pools {
		if block, ok := pick(p.Network, p.Length, node, func(b netip.Prefix) bool { return !used.Overlaps(b) }); ok {
			return block, true
		}
	}
	return netip.Prefix{}, false
}
