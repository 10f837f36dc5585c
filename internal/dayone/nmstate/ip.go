package nmstate

import (
	"fmt"
	"net/netip"
)

// Auto has the common settings of both families for automatic configuration. A nil boolean means true if the family is automatic.
type Auto struct {
	Enabled *bool `json:"enabled,omitempty"`
	DHCP    *bool `json:"dhcp,omitempty"`
	// Address has the addresses in the order of the document; the first is the primary one.
	Address            []Address `json:"address,omitempty"`
	AutoDNS            *bool     `json:"auto-dns,omitempty"`
	AutoGateway        *bool     `json:"auto-gateway,omitempty"`
	AutoRoutes         *bool     `json:"auto-routes,omitempty"`
	AutoRouteTableID   *uint32   `json:"auto-route-table-id,omitempty"`
	AutoRouteMetric    *uint32   `json:"auto-route-metric,omitempty"`
	DHCPSendHostname   *bool     `json:"dhcp-send-hostname,omitempty"`
	DHCPCustomHostname string    `json:"dhcp-custom-hostname,omitempty"`
	// AllowExtraAddress allows the host to have more addresses in the verification; nil means true.
	AllowExtraAddress *bool `json:"allow-extra-address,omitempty"`
}

// IPv4 is the IPv4 configuration of an interface.
type IPv4 struct {
	Auto
	// DHCPClientID is ll, iaid+duid, or the identifier itself.
	DHCPClientID string `json:"dhcp-client-id,omitempty"`
}

// IPv6 is the IPv6 configuration of an interface.
type IPv6 struct {
	Auto
	Autoconf *bool `json:"autoconf,omitempty"`
	// DHCPDUID is llt, en, ll, uuid, or the identifier itself.
	DHCPDUID string `json:"dhcp-duid,omitempty"`
	// AddrGenMode is eui64, stable-privacy, or a number of NetworkManager.
	AddrGenMode string `json:"addr-gen-mode,omitempty"`
	Token       string `json:"token,omitempty"`
}

// Address is an address with the length of its subnet's prefix.
type Address struct {
	IP           netip.Addr `json:"ip" nm:"required"`
	PrefixLength uint8      `json:"prefix-length" nm:"required"`
	// The other fields are reported by NMState. An address with a lifetime is dynamic, and not desired.
	MPTCPFlags        []string `json:"mptcp-flags,omitempty"`
	ValidLifeTime     string   `json:"valid-life-time,omitempty" nm:"alias=valid-left|valid-lft"`
	PreferredLifeTime string   `json:"preferred-life-time,omitempty" nm:"alias=preferred-left|preferred-lft"`
}

// Learned reports whether the address is dynamic.
func (a Address) Learned() bool { return a.ValidLifeTime != "" && a.ValidLifeTime != "forever" }

// Prefix returns the address with its prefix length and host bits.
func (a Address) Prefix() netip.Prefix { return netip.PrefixFrom(a.IP, int(a.PrefixLength)) }

// On reports whether the family is enabled; it is false for nil.
func (ip *IPv4) On() bool { return ip != nil && Is(ip.Enabled) }

// Automatic reports whether DHCP is enabled.
func (ip *IPv4) Automatic() bool { return ip.On() && Is(ip.DHCP) }

// On reports whether the family is enabled; it is false for nil.
func (ip *IPv6) On() bool { return ip != nil && Is(ip.Enabled) }

// Automatic reports whether DHCP or autoconf is enabled.
func (ip *IPv6) Automatic() bool { return ip.On() && (Is(ip.DHCP) || Is(ip.Autoconf)) }

// Is reports whether b is set and true.
func Is(b *bool) bool { return b != nil && *b }

// StaticAddress is a static address of an interface, with its path from the interface.
type StaticAddress struct {
	Address
	Path string
}

// Static returns the static addresses of an interface that is up.
func (i *Interface) Static() []StaticAddress {
	if !i.Up() {
		return nil
	}
	var all []StaticAddress
	collect := func(family string, list []Address) {
		for n, a := range list {
			if !a.Learned() {
				all = append(all, StaticAddress{a, fmt.Sprintf("%s.address[%d].ip", family, n)})
			}
		}
	}
	if i.IPv4.On() {
		collect("ipv4", i.IPv4.Address)
	}
	if i.IPv6.On() {
		collect("ipv6", i.IPv6.Address)
	}
	return all
}
