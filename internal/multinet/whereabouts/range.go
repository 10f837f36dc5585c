package whereabouts

import (
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// Span is the addresses from First to Last, both included and of one IP family.
type Span struct{ First, Last netip.Addr }

// contains reports whether an address is in the span.
func (s Span) contains(a netip.Addr) bool {
	return s.First.Compare(a) <= 0 && a.Compare(s.Last) <= 0
}

// Range is a network, with the addresses in it that are assigned to pods.
type Range struct {
	// Network is the network of the addresses, without host bits. The name of the pool is derived from it.
	Network netip.Prefix
	// Span has the addresses that may be assigned, except Exclude.
	Span
	// Exclude has the addresses that are not assigned, in order and disjoint.
	Exclude []Span
}

// usable returns the assignable addresses of a network: all except the network address and the IPv4 broadcast address, which networks of one or two
// addresses do not have.
func usable(network netip.Prefix) Span {
	first, last := network.Addr(), lastOf(network)
	if network.Addr().BitLen()-network.Bits() < netaddr.MinHostBits {
		return Span{first, last}
	}
	if first.Is4() {
		last = last.Prev()
	}
	return Span{first.Next(), last}
}

// lastOf returns the last address of a network.
func lastOf(network netip.Prefix) netip.Addr {
	raw := network.Addr().AsSlice()
	for bit := network.Bits(); bit < network.Addr().BitLen(); bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(raw)
	return last
}

// Within returns the range limited to a part of its network; ok is false if no address remains.
func (r Range) Within(part netip.Prefix) (Range, bool) {
	if !netaddr.Contains(r.Network, part) {
		return Range{}, false
	}
	if part.Addr().Compare(r.First) > 0 {
		r.First = part.Addr()
	}
	if last := lastOf(part); last.Compare(r.Last) < 0 {
		r.Last = last
	}
	return r, r.First.Compare(r.Last) <= 0
}

// Assignable reports whether an address may be assigned from the range.
func (r Range) Assignable(a netip.Addr) bool {
	_, excluded := r.excluded(a)
	return a.BitLen() == r.Network.Addr().BitLen() && r.contains(a) && !excluded
}

// excluded returns the last address of the excluded span that contains an address.
func (r Range) excluded(a netip.Addr) (last netip.Addr, ok bool) {
	i, _ := slices.BinarySearchFunc(r.Exclude, a, func(e Span, a netip.Addr) int { return e.Last.Compare(a) })
	if i == len(r.Exclude) || !r.Exclude[i].contains(a) {
		return netip.Addr{}, false
	}
	return r.Exclude[i].Last, true
}

// Next returns the lowest address of the range that is not lower than from, not excluded, and not taken; ok is false if there is none.
// The zero from is the beginning.
func (r Range) Next(from netip.Addr, taken func(netip.Addr) bool) (a netip.Addr, ok bool) {
	a = r.First
	if from.IsValid() && from.Compare(a) > 0 {
		a = from
	}
	for a.IsValid() && a.Compare(r.Last) <= 0 {
		if last, ok := r.excluded(a); ok {
			a = last.Next()
			continue
		}
		if !taken(a) {
			return a, true
		}
		a = a.Next()
	}
	return netip.Addr{}, false
}

// Size returns the number of assignable addresses; math.MaxUint64 if the number does not fit.
func (r Range) Size() uint64 {
	n := count(r.Span)
	for _, e := range r.Exclude {
		n.Sub(n, count(e))
	}
	if !n.IsUint64() {
		return math.MaxUint64
	}
	return n.Uint64()
}

func count(s Span) *big.Int {
	n := new(big.Int).Sub(number(s.Last), number(s.First))
	return n.Add(n, big.NewInt(1))
}

func number(a netip.Addr) *big.Int { return new(big.Int).SetBytes(a.AsSlice()) }

// Offset returns the key of an address in the allocations of a pool: its distance from the network address.
func (r Range) Offset(a netip.Addr) string {
	return new(big.Int).Sub(number(a), number(r.Network.Addr())).String()
}

// Address is the inverse of Offset; ok is false for text that is not the offset of an address of the network.
func (r Range) Address(offset string) (a netip.Addr, ok bool) {
	// big.Int reads signs, underscores and texts of any length, which are no offsets.
	if len(offset) > len("340282366920938463463374607431768211455") || strings.Trim(offset, "0123456789") != "" {
		return netip.Addr{}, false
	}
	n, ok := new(big.Int).SetString(offset, 10)
	base := r.Network.Addr()
	if !ok || n.Add(n, number(base)).BitLen() > base.BitLen() {
		return netip.Addr{}, false
	}
	a, _ = netip.AddrFromSlice(n.FillBytes(make([]byte, base.BitLen()/8)))
	return a, r.Network.Contains(a)
}

// exclude adds excluded spans. It merges spans that overlap, and ignores addresses outside of the range.
func (r *Range) exclude(spans ...Span) {
	all := slices.Clone(r.Exclude)
	for _, s := range spans {
		if s.First.BitLen() != r.First.BitLen() || s.Last.Compare(r.First) < 0 || s.First.Compare(r.Last) > 0 {
			continue
		}
		if s.First.Compare(r.First) < 0 {
			s.First = r.First
		}
		if s.Last.Compare(r.Last) > 0 {
			s.Last = r.Last
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Span) int { return a.First.Compare(b.First) })
	r.Exclude = nil
	for _, s := range all {
		if last := len(r.Exclude) - 1; last >= 0 && s.First.Compare(r.Exclude[last].Last) <= 0 {
			if s.Last.Compare(r.Exclude[last].Last) > 0 {
				r.Exclude[last].Last = s.Last
			}
			continue
		}
		r.Exclude = append(r.Exclude, s)
	}
}

// String returns the network, or first-last/length if the range is not the whole network.
func (r Range) String() string {
	if r.Span == usable(r.Network) {
		return r.Network.String()
	}
	return fmt.Sprintf("%s-%s/%d", r.First, r.Last, r.Network.Bits())
}
