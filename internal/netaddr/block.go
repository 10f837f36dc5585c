package netaddr

import (
	"math"
	"net/netip"
)

// MinHostBits is the least number of host bits of the block that a node gets: with one bit there is no address
// left for a pod besides those of the network and of broadcast.
const MinHostBits = 2

// BlockRange returns the least and the greatest length of the prefix of a node's block in a pool: the pool's own,
// so that one node gets all of it, and what leaves MinHostBits. If lo > hi the pool is too small for any block.
func BlockRange(pool netip.Prefix) (lo, hi int) {
	if !pool.IsValid() {
		return 1, 0
	}
	return pool.Bits(), pool.Addr().BitLen() - MinHostBits
}

// Blocks returns how many blocks of a prefix length there are in a pool. It is 0 if the length is not one inside
// the pool, and math.MaxUint64 if the number does not fit.
func Blocks(pool netip.Prefix, length uint32) uint64 {
	if !pool.IsValid() || int64(length) < int64(pool.Bits()) || int64(length) > int64(pool.Addr().BitLen()) {
		return 0
	}
	return power(int(length) - pool.Bits())
}

// PodAddresses returns how many pods a block of a prefix length has addresses for: all of the block but the
// network's own and, in IPv4, the broadcast address. It is 0 for a length that the family of the pool does not
// have, and math.MaxUint64 if the number does not fit.
func PodAddresses(pool netip.Prefix, length uint32) uint64 {
	if !pool.IsValid() || int64(length) > int64(pool.Addr().BitLen()) {
		return 0
	}
	n, taken := power(pool.Addr().BitLen()-int(length)), uint64(1)
	if pool.Addr().Is4() {
		taken = 2
	}
	if n == math.MaxUint64 {
		return n
	}
	return n - min(n, taken)
}

// Add returns the sum of two numbers of blocks or addresses, or math.MaxUint64 if it does not fit.
func Add(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

func power(bits int) uint64 {
	if bits >= 64 {
		return math.MaxUint64
	}
	return 1 << bits
}
