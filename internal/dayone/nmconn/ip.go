package nmconn

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// maxTimeout is the maximum timeout of NetworkManager in seconds, so that a host without a lease retries indefinitely.
const maxTimeout = 2147483647

// writeIP writes the sections of both families, for interfaces that may have addresses.
func (i *iface) writeIP(k keyfile) {
	if !i.mayHaveIP() {
		return
	}
	v4, v6 := i.IPv4, i.IPv6
	if i.ovsBridge() {
		// The bridge itself never has addresses, regardless of the document.
		v4, v6 = nil, nil
	}
	k.set("ipv4", "dhcp-timeout", maxTimeout)
	k.set("ipv6", "dhcp-timeout", maxTimeout)
	k.set("ipv4", "method", i.method4(v4))
	k.set("ipv6", "method", i.method6(v6))
	if enabled4(v4) {
		writeAuto(k, "ipv4", &v4.Auto, v4.Automatic())
		writeDHCP4(k, v4)
	}
	if v6 != nil {
		k.set("ipv6", "addr-gen-mode", addrGenMode(v6))
	}
	if v6.On() {
		writeAuto(k, "ipv6", &v6.Auto, v6.Automatic())
		writeDHCP6(k, v6)
	}
	writeFamily(k, "ipv4", &i.v4)
	writeFamily(k, "ipv6", &i.v6)
	if i.WaitIP != "" {
		k.set("ipv4", "may-fail", !strings.Contains(string(i.WaitIP), "ipv4"))
		k.set("ipv6", "may-fail", !strings.Contains(string(i.WaitIP), "ipv6"))
	}
}

// enabled4 reports whether IPv4 is enabled. For NMState, an empty list of addresses disables it, except with DHCP.
func enabled4(ip *nmstate.IPv4) bool {
	return ip.On() && (ip.Automatic() || ip.Address == nil || len(ip.Address) > 0)
}

func (i *iface) method4(ip *nmstate.IPv4) string {
	switch {
	case !enabled4(ip):
		return "disabled"
	case ip.Automatic():
		return "auto"
	case len(static(&ip.Auto)) > 0 || len(i.v4.routes) > 0:
		return "manual"
	}
	return "disabled"
}

func (i *iface) method6(ip *nmstate.IPv6) string {
	switch {
	case !ip.On():
		return "disabled"
	case nmstate.Is(ip.DHCP) && nmstate.Is(ip.Autoconf):
		return "auto"
	case nmstate.Is(ip.DHCP):
		return "dhcp"
	case len(static(&ip.Auto)) > 0 || len(i.v6.routes) > 0:
		return "manual"
	}
	return "link-local"
}

// static returns the static addresses: it omits dynamic addresses and those of the kernel.
func static(a *nmstate.Auto) (out []netip.Prefix) {
	for _, addr := range a.Address {
		if addr.Learned() || addr.IP.Is6() && addr.IP.IsLinkLocalUnicast() {
			continue
		}
		out = append(out, addr.Prefix())
	}
	return out
}

// writeAuto writes static addresses, and the settings of automatic ones.
func writeAuto(k keyfile, section string, a *nmstate.Auto, automatic bool) {
	for n, p := range static(a) {
		k.set(section, fmt.Sprintf("address%d", n), p.String())
	}
	if !automatic {
		return
	}
	k.set(section, "ignore-auto-dns", isFalse(a.AutoDNS))
	k.set(section, "ignore-auto-routes", isFalse(a.AutoRoutes))
	k.set(section, "never-default", isFalse(a.AutoGateway))
	k.set(section, "route-table", a.AutoRouteTableID)
	k.set(section, "route-metric", a.AutoRouteMetric)
	k.set(section, "dhcp-send-hostname", !isFalse(a.DHCPSendHostname))
}

func writeDHCP4(k keyfile, ip *nmstate.IPv4) {
	if !ip.Automatic() {
		return
	}
	id := ip.DHCPClientID
	switch id {
	case "", "ll", "LL":
		id = "mac"
	case "iaid+duid", "IAID+DUID":
		id = "duid"
	}
	k.set("ipv4", "dhcp-client-id", id)
	if isFalse(ip.DHCPSendHostname) {
		return
	}
	// A name with a dot uses another DHCP option (RFC 4702).
	key := "dhcp-hostname"
	if strings.Contains(ip.DHCPCustomHostname, ".") {
		key = "dhcp-fqdn"
	}
	k.set("ipv4", key, ip.DHCPCustomHostname)
}

func writeDHCP6(k keyfile, ip *nmstate.IPv6) {
	if !ip.Automatic() {
		return
	}
	duid := ip.DHCPDUID
	switch duid {
	case "", "LL":
		duid = "ll"
	case "LLT":
		duid = "llt"
	case "uuid", "UUID":
		// NMState writes uuid, which NetworkManager does not support; this is the equivalent.
		duid = "stable-uuid"
	}
	k.set("ipv6", "dhcp-duid", duid)
	k.set("ipv6", "dhcp-iaid", "mac")
	k.set("ipv6", "ra-timeout", maxTimeout)
	k.set("ipv6", "token", token(ip.Token))
	if !isFalse(ip.DHCPSendHostname) {
		k.set("ipv6", "dhcp-hostname", ip.DHCPCustomHostname)
	}
}

// addrGenMode returns NetworkManager's number of the address generation mode. NMState accepts unknown numbers, and treats other words as the default.
func addrGenMode(ip *nmstate.IPv6) int {
	if strings.EqualFold(ip.AddrGenMode, "stable-privacy") {
		return 1
	}
	number, _ := strconv.ParseInt(ip.AddrGenMode, 10, 32)
	return int(number)
}

// token returns an interface identifier in its shortest form; empty if there is none.
func token(s string) string {
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.IsUnspecified() {
		return ""
	}
	// Without a prefix, small tokens would be formatted like IPv4 addresses.
	b := addr.As16()
	b[0], b[1], b[2], b[3] = 0x20, 0x01, 0x0d, 0xb8
	return strings.TrimPrefix(netip.AddrFrom16(b).String(), "2001:db8")
}

func writeFamily(k keyfile, section string, f *family) {
	for n, r := range f.routes {
		k.set(section, fmt.Sprintf("route%d", n), r.line())
		k.set(section, fmt.Sprintf("route%d_options", n), r.options())
	}
	for n, r := range f.rules {
		k.set(section, fmt.Sprintf("routing-rule%d", n), r.line())
	}
	if f.dns != nil {
		k.set(section, "dns", f.dns.servers)
		k.set(section, "dns-search", f.dns.search)
		k.set(section, "dns-options", f.dns.options)
		k.set(section, "dns-priority", f.dns.priority)
	}
}

// isFalse reports whether b is set and false.
func isFalse(b *bool) bool { return b != nil && !*b }

// canonical returns the canonical form of an address, and other text unchanged.
func canonical(s string) string {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.String()
	}
	return s
}
