package netaddr

import "net/netip"

// Pool is a network and its field in the specification.
type Pool struct {
	Name   string
	Prefix netip.Prefix
}

// Overlap is a pair of overlapping pools; First is before Second in the list.
type Overlap struct{ First, Second Pool }

// Sentence describes the overlap: "spec.a lies inside spec.b", "spec.a contains spec.b", "spec.a is the same as spec.b".
func (o Overlap) Sentence() string {
	switch {
	case o.First.Prefix == o.Second.Prefix:
		return o.Second.Name + " is the same as " + o.First.Name
	case Contains(o.First.Prefix, o.Second.Prefix):
		return o.Second.Name + " lies inside " + o.First.Name
	}
	return o.Second.Name + " contains " + o.First.Name
}

// Overlaps returns every pair of pools with addresses in common, ordered by the second of the pair and then the
// first. Invalid prefixes overlap nothing. Its time grows with the square of the number of pools.
func Overlaps(pools []Pool) []Overlap {
	var found []Overlap
	for i, second := range pools {
		for _, first := range pools[:i] {
			if first.Prefix.IsValid() && second.Prefix.IsValid() && first.Prefix.Overlaps(second.Prefix) {
				found = append(found, Overlap{First: first, Second: second})
			}
		}
	}
	return found
}

// Families are the IP families of a set of networks.
type Families struct{ IPv4, IPv6 bool }

// FamiliesOf returns the IP families of the valid prefixes.
func FamiliesOf(prefixes []netip.Prefix) Families {
	var f Families
	for _, p := range prefixes {
		f.IPv4 = f.IPv4 || p.Addr().Is4()
		f.IPv6 = f.IPv6 || p.Addr().Is6()
	}
	return f
}

// Dual reports whether both families are present.
func (f Families) Dual() bool { return f.IPv4 && f.IPv6 }

// String returns "IPv4", "IPv6", "IPv4 and IPv6" or "empty".
func (f Families) String() string {
	switch f {
	case Families{IPv4: true}:
		return "IPv4"
	case Families{IPv6: true}:
		return "IPv6"
	case Families{IPv4: true, IPv6: true}:
		return "IPv4 and IPv6"
	}
	return "empty"
}

// Version returns the version of IP of a network, 4 or 6.
func Version(network netip.Prefix) int {
	if network.Addr().Is4() {
		return 4
	}
	return 6
}

// SameFamily reports whether two valid prefixes are of the same IP family.
func SameFamily(a, b netip.Prefix) bool {
	return a.IsValid() && b.IsValid() && a.Addr().Is4() == b.Addr().Is4()
}
