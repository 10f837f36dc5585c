package nodeblocks

import (
	"hash/fnv"
	"math/big"
	"net/netip"
)

// maxSubnets bounds the subnets that Pick looks at, for IPv6 networks with more subnets than there can be nodes.
const maxSubnets = 1 << 20

// Pick returns a subnet of the given length inside network that overlaps nothing in taken; ok is false if there
// is none. The first subnet is never given out, as flannel does, since its first address is the network's. The
// search begins at a place that depends on the node's name: a node that lost everything tends to get the same
// subnet, and nodes that come at once tend not to get into one another's way.
func Pick(network netip.Prefix, length int, node string, taken []netip.Prefix) (subnet netip.Prefix, ok bool) {
	same := make(map[netip.Prefix]bool, len(taken))
	var other []netip.Prefix
	for _, t := range taken {
		if t.Bits() == length {
			same[t.Masked()] = true
		} else if t.IsValid() {
			other = append(other, t)
		}
	}
	return pick(network, length, node, func(b netip.Prefix) bool { return !same[b] && !overlapsAny(b, other) })
}

func pick(network netip.Prefix, length int, node string, free func(netip.Prefix) bool) (netip.Prefix, bool) {
	count := uint64(maxSubnets)
	if bits := length - network.Bits(); bits < 0 {
		return netip.Prefix{}, false
	} else if bits < 20 {
		count = 1 << bits
	}
	if count < 2 {
		return netip.Prefix{}, false
	}
	hash := fnv.New64a()
	hash.Write([]byte(node))
	start := hash.Sum64() % (count - 1)
	for i := range count - 1 {
		if candidate := nthSubnet(network, length, 1+(start+i)%(count-1)); free(candidate) {
			return candidate, true
		}
	}
	return netip.Prefix{}, false
}

// Usable reports whether a subnet is one that Pick could return.
func Usable(network netip.Prefix, length int, subnet netip.Prefix) bool {
	return subnet.IsValid() && subnet == subnet.Masked() && subnet.Bits() == length &&
		network.Bits() <= length && network.Contains(subnet.Addr()) && subnet.Addr() != network.Masked().Addr()
}

func nthSubnet(network netip.Prefix, length int, n uint64) netip.Prefix {
	base := network.Masked().Addr()
	sum := new(big.Int).Lsh(new(big.Int).SetUint64(n), uint(base.BitLen()-length))
	sum.Add(sum, new(big.Int).SetBytes(base.AsSlice()))
	addr, _ := netip.AddrFromSlice(sum.FillBytes(make([]byte, base.BitLen()/8)))
	return netip.PrefixFrom(addr, length)
}

func overlapsAny(p netip.Prefix, others []netip.Prefix) bool {
	for _, o := range others {
		if p.Overlaps(o) {
			return true
		}
	}
	return false
}
