package netaddr

import (
	"net"
	"net/netip"
)

// IPNet returns a prefix in the form of package net, with the address that it has; nil for an invalid one.
func IPNet(p netip.Prefix) *net.IPNet {
	if !p.IsValid() {
		return nil
	}
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// FromIPNet returns a prefix of package net, an IPv4 one in IPv6 form as IPv4; ok is false for nil and for an invalid one.
func FromIPNet(n *net.IPNet) (p netip.Prefix, ok bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(addr.Unmap(), bits), ok
}
