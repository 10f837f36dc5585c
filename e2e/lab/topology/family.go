package topology

import (
	"fmt"
	"net/netip"
)

// Family is the set of IP families of the nodes and Services of a lab.
type Family string

const (
	// IPv4 labs have no IPv6 addresses.
	IPv4 Family = "4"
	// IPv6 labs have no IPv4 address but the loopback one.
	IPv6 Family = "6"
	// DualStack labs have both, IPv4 first.
	DualStack Family = "dual"
)

// Underlay networks: they exist in the namespaces of the lab only, so any
// private range does; these are rarely used by examples for pods or services.
var (
	underlay4 = netip.MustParsePrefix("10.89.0.0/24")
	underlay6 = netip.MustParsePrefix("fd89::/64")
	service4  = netip.MustParsePrefix("10.96.0.0/16")
	service6  = netip.MustParsePrefix("fd96::/112")
)

// ParseFamily accepts "4", "6" and "dual".
func ParseFamily(s string) (Family, error) {
	switch f := Family(s); f {
	case IPv4, IPv6, DualStack:
		return f, nil
	}
	return "", fmt.Errorf("unknown IP family %q: use 4, 6 or dual", s)
}

// Underlay lists the networks the nodes' addresses are from, the primary
// family first.
func (f Family) Underlay() []netip.Prefix { return f.pick(underlay4, underlay6) }

// Gateways returns the underlay's own address in each of its networks, the gateways
// of the nodes' default routes.
func (f Family) Gateways() []netip.Addr {
	var addrs []netip.Addr
	for _, p := range f.Underlay() {
		addrs = append(addrs, p.Addr().Next())
	}
	return addrs
}

// Loopback is the loopback address of the primary family.
func (f Family) Loopback() netip.Addr {
	if f == IPv6 {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// Unspecified returns the address to listen on for connections to all addresses of
// the lab's families.
func (f Family) Unspecified() netip.Addr {
	if f == IPv4 {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

func (f Family) defaultServiceNetwork() []netip.Prefix { return f.pick(service4, service6) }

func (f Family) pick(v4, v6 netip.Prefix) []netip.Prefix {
	switch f {
	case IPv6:
		return []netip.Prefix{v6}
	case DualStack:
		return []netip.Prefix{v4, v6}
	default:
		return []netip.Prefix{v4}
	}
}

// addresses are the underlay addresses of the host numbered n (1 to 254).
func (f Family) addresses(n int) []netip.Addr {
	var addrs []netip.Addr
	for _, p := range f.Underlay() {
		addrs = append(addrs, numbered(p, n))
	}
	return addrs
}

// numbered is the address n above the first one of p, for n up to 254: the
// last byte of the networks used here is all host bits.
func numbered(p netip.Prefix, n int) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	b[len(b)-1] += byte(n)
	a, _ := netip.AddrFromSlice(b)
	return a
}
