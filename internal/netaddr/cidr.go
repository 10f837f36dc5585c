// Package netaddr holds the arithmetic of address pools: strict parsing of CIDRs, overlap, IP families, and the
// blocks that nodes get out of a pool.
//
// It is pure. No function panics, whatever it is given.
package netaddr

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
)

// SyntaxError is the error of ParseCIDR for text that is not a CIDR.
type SyntaxError struct {
	// Remedy is what to write instead.
	Remedy string
}

// Error says what to write instead, in words that go on from the written value.
func (e *SyntaxError) Error() string { return rules.CIDRSyntax.Detail(e.Remedy) }

// HostBitsError is the error of ParseCIDR for a CIDR whose address lies inside the network that it names.
type HostBitsError struct {
	// Prefix is what was written, Network is what was probably meant.
	Prefix, Network netip.Prefix
}

// Error says what is wrong and names the network, in words that go on from the written value.
func (e *HostBitsError) Error() string {
	return rules.CIDRHostBits.Detail(e.Network)
}

// ParseCIDR reads a network in CIDR notation, strictly: no leading zeros, no zone, no IPv4 address in IPv6
// notation, no host bits. The error goes on from the written value ("is not a CIDR; write ..."); it is a
// *SyntaxError or a *HostBitsError.
func ParseCIDR(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, &SyntaxError{remedy(s)}
	}
	if p.Addr().Is4In6() {
		return netip.Prefix{}, &SyntaxError{"write the IPv4 network without its ::ffff: prefix"}
	}
	if network := p.Masked(); network != p {
		return netip.Prefix{}, &HostBitsError{Prefix: p, Network: network}
	}
	return p, nil
}

// Invalid returns the field error for an error of ParseCIDR.
func Invalid(at *field.Path, value string, err error) *field.Error {
	if e, ok := errors.AsType[*HostBitsError](err); ok {
		return rules.CIDRHostBits.Invalid(at, value, e.Network)
	}
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return rules.CIDRSyntax.Invalid(at, value, e.Remedy)
	}
	return field.Invalid(at, value, err.Error())
}

// remedy says what to write instead of something that is not a CIDR, with the closest example there is.
func remedy(s string) string {
	const v4, v6 = "write four octets and a prefix", "write an IPv6 network and a prefix"
	addr, bits, slash := strings.Cut(strings.TrimSpace(s), "/")
	if a, err := netip.ParseAddr(addr); err == nil && a.Zone() == "" && !a.Is4In6() {
		return addressRemedy(a, bits, slash)
	}
	if strings.Contains(addr, ":") {
		return v6 + ", e.g. fd00:10::/48"
	}
	if fixed, ok := completeIPv4(addr, bits); ok {
		return v4 + ", e.g. " + fixed
	}
	return v4 + ", e.g. 10.128.0.0/14"
}

// addressRemedy answers for text whose address is right: then it is the prefix that is missing or wrong.
func addressRemedy(a netip.Addr, bits string, slash bool) string {
	n, err := strconv.Atoi(bits)
	if p, perr := a.Prefix(n); err == nil && perr == nil && slash {
		return "write it as " + p.String()
	}
	if !slash {
		return fmt.Sprintf("add the length of its prefix, 1 to %d, after a slash", a.BitLen())
	}
	return fmt.Sprintf("the prefix must be a number from 1 to %d", a.BitLen())
}

// completeIPv4 puts the octets in that a network such as 10.128.0/9 leaves out, and takes leading zeros away.
func completeIPv4(addr, bits string) (string, bool) {
	octets := strings.Split(strings.Trim(addr, "."), ".")
	if len(octets) > 4 {
		return "", false
	}
	var b [4]byte
	for i, o := range octets {
		n, err := strconv.ParseUint(o, 10, 8)
		if err != nil {
			return "", false
		}
		b[i] = byte(n)
	}
	n, err := strconv.Atoi(bits)
	if err != nil {
		n = 8 * len(octets)
	}
	p, err := netip.AddrFrom4(b).Prefix(n)
	return p.String(), err == nil
}

// Special names the kind of addresses that a pool lies in and that can be given neither to pods nor to services
// ("loopback", "multicast", "link-local", "reserved", "unspecified"). It is empty for all other pools.
func Special(p netip.Prefix) string {
	for _, s := range [...]struct{ cidr, kind string }{
		{"127.0.0.0/8", "loopback"}, {"::1/128", "loopback"},
		{"224.0.0.0/4", "multicast"}, {"ff00::/8", "multicast"},
		{"169.254.0.0/16", "link-local"}, {"fe80::/10", "link-local"},
		{"240.0.0.0/4", "reserved"},
		{"0.0.0.0/8", "unspecified"}, {"::/128", "unspecified"},
	} {
		if Contains(netip.MustParsePrefix(s.cidr), p) {
			return s.kind
		}
	}
	return ""
}

// Private reports whether a network lies in addresses that no host on the internet has: those of RFC 1918 and 6598, for benchmarks
// and documentation, and unique local ones.
func Private(p netip.Prefix) bool {
	for _, cidr := range [...]string{
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "192.0.0.0/24",
		"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "fc00::/7", "2001:db8::/32", "3fff::/20",
	} {
		if Contains(netip.MustParsePrefix(cidr), p) {
			return true
		}
	}
	return false
}

// Contains reports whether all of inner lies in outer. Nothing is contained in, nor contains, an invalid prefix.
func Contains(outer, inner netip.Prefix) bool {
	return outer.IsValid() && inner.IsValid() && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}
