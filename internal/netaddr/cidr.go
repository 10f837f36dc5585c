// Package netaddr has the arithmetic of address pools: strict parsing of CIDRs, overlap, IP families, and the blocks of
// nodes in a pool.
//
// It is pure. No function panics for any input.
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
	// Remedy suggests a correction.
	Remedy string
}

// Error returns the error with the correction, as a continuation of the value.
func (e *SyntaxError) Error() string { return rules.CIDRSyntax.Detail(e.Remedy) }

// HostBitsError is the error of ParseCIDR for a CIDR with host bits.
type HostBitsError struct {
	// Prefix is the given prefix, Network the one without host bits.
	Prefix, Network netip.Prefix
}

// Error returns the error with the network, as a continuation of the value.
func (e *HostBitsError) Error() string {
	return rules.CIDRHostBits.Detail(e.Network)
}

// ParseCIDR parses a network in CIDR notation, strictly: no leading zeros, no zone, no IPv4 address in IPv6
// notation, no host bits. The error continues the value ("is not a CIDR; write ..."); it is a
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

// remedy suggests a correction of an invalid CIDR.
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

// addressRemedy suggests a correction for a valid address with a missing or invalid prefix length.
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

// completeIPv4 adds the missing octets of a network such as 10.128.0/9, and removes leading zeros.
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

// Special returns the kind of addresses of a pool that can be used neither for pods nor for Services ("loopback",
// "multicast", "link-local", "reserved", "unspecified"); "" for all other pools.
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

// Private reports whether a network is in a range that is not used on the internet: those of RFC 1918 and 6598, for
// benchmarks and documentation, and unique local addresses.
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

// Contains reports whether inner is a subset of outer; false if one of them is invalid.
func Contains(outer, inner netip.Prefix) bool {
	return outer.IsValid() && inner.IsValid() && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}
