package nodeblocks

import (
	"hash/fnv"
	"math/big"
	"net/netip"
)

// maxSubnets bounds the subnets that Pick checks, for IPv6 networks with more subnets than there can be nodes.
const maxSubnets = 1 << 20

// Pick returns a subnet of the given length inside network that overlaps no prefix in taken; ok is false if there is none.
// It never returns the first subnet, like flannel, since its first address is that of the network. The search begins at an
// index that depends on the node's name: a node that lost its state is likely to get the same subnet, and nodes that are
// added at the same time are unlikely to conflict.
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

// Usable reports whether Pick could return a subnet.
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
