package nmconn

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// The priorities of name servers in NetworkManager; lower numbers have precedence.
const (
	dnsFirst  = 40
	dnsSecond = 50
)

// resolver is the DNS configuration of a family in a profile.
type resolver struct {
	servers, search, options []string
	priority                 int
}

// server is a name server of the document.
type server struct {
	addr netip.Addr
	// zone is the interface of a link-local address; empty for others.
	zone string
	path string
}

// placeDNS adds name servers to profiles. All servers of a family are in the same profile.
func (n *network) placeDNS() {
	if n.doc.DNS == nil || n.doc.DNS.Config == nil {
		return
	}
	c := n.doc.DNS.Config
	n.checkDNSOptions(c.Options)
	servers := n.readServers(c.Server)
	if len(servers) == 0 {
		if len(c.Search) > 0 || len(c.Options) > 0 {
			n.placeSearch(c)
		}
		return
	}
	for _, is6 := range []bool{true, false} {
		own := slices.DeleteFunc(slices.Clone(servers), func(s server) bool { return s.addr.Is6() != is6 })
		if len(own) == 0 {
			continue
		}
		holder := n.dnsHolder(is6, own)
		if holder == nil {
			continue
		}
		r := &resolver{priority: dnsSecond}
		if servers[0].addr.Is6() == is6 {
			r = &resolver{priority: dnsFirst, search: c.Search, options: c.Options}
		}
		for _, s := range own {
			r.servers = append(r.servers, s.addr.String())
		}
		holder.family(is6).dns = r
	}
}

// readServers reads the addresses of name servers.
func (n *network) readServers(list []string) (out []server) {
	turns := ""
	for idx, text := range list {
		at := fmt.Sprintf("dns-resolver.config.server[%d]", idx)
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" && !addr.IsLinkLocalUnicast() {
			n.problems.Errorf(n.doc, at, "is %q; an address is wanted, and only a link-local one names its interface: fe80::1%%eth0", text)
			continue
		}
		out = append(out, server{addr: addr.WithZone(""), zone: addr.Zone(), path: at})
		if digit := familyName(addr.Is6())[3:]; !strings.HasSuffix(turns, digit) {
			turns += digit
		}
	}
	if len(list) > 2 && len(turns) > 2 {
		n.problems.Errorf(n.doc, "dns-resolver.config.server", "goes from one family to the other and back; NetworkManager keeps the servers of each family together, so list them together")
		return nil
	}
	return out
}

// dnsHolder selects the interface whose profile has a family's servers.
func (n *network) dnsHolder(is6 bool, servers []server) *iface {
	zone := ""
	for _, s := range servers {
		switch {
		case s.zone == "" || s.zone == zone:
		case zone != "":
			n.problems.Errorf(n.doc, s.path, "is reached through %s, and another server through %s; one interface has all of them", s.zone, zone)
			return nil
		default:
			zone = s.zone
		}
	}
	if zone != "" {
		if i := n.kernel[zone]; i != nil && i.Up() && i.mayHaveIP() && i.enabled(is6) && i.hasAddresses(is6) {
			return i
		}
		n.problems.Errorf(n.doc, servers[0].path, "is reached through %s, which is no interface of this document with ipv6 addresses", zone)
		return nil
	}
	for _, wanted := range []func(*iface, bool) bool{(*iface).prefersDNS, (*iface).hasAddresses} {
		for _, i := range n.order {
			if i.holdsDNS() && i.mayHaveIP() && wanted(i, is6) {
				return i
			}
		}
	}
	n.problems.Errorf(n.doc, servers[0].path, "has no interface to belong to: no interface of this document has %s addresses, its own or by %s", familyName(is6), autoWord(is6))
	return nil
}

func autoWord(is6 bool) string {
	if is6 {
		return "DHCP or autoconf"
	}
	return "DHCP"
}

// holdsDNS reports whether NMState would add name servers to the interface.
func (i *iface) holdsDNS() bool {
	return i.declared && i.Up() && !i.ovsBridge() && i.Type != nmstate.TypeLoopback
}

// auto returns the family's configuration if it is on; nil otherwise.
func (i *iface) auto(is6 bool) (a *nmstate.Auto, automatic bool) {
	switch {
	case !i.enabled(is6):
		return nil, false
	case is6:
		return &i.IPv6.Auto, i.IPv6.Automatic()
	}
	return &i.IPv4.Auto, i.IPv4.Automatic()
}

// prefersDNS reports whether the family would only have static servers.
func (i *iface) prefersDNS(is6 bool) bool {
	a, automatic := i.auto(is6)
	return a != nil && (!automatic && len(static(a)) > 0 || automatic && isFalse(a.AutoDNS))
}

func (i *iface) hasAddresses(is6 bool) bool {
	a, automatic := i.auto(is6)
	return a != nil && (automatic || len(static(a)) > 0)
}

// placeSearch adds search domains and options without servers to an interface with automatic servers, or else to any interface with addresses.
func (n *network) placeSearch(c *nmstate.Resolver) {
	r := &resolver{priority: dnsFirst, search: c.Search, options: c.Options}
	automatic := func(i *iface, is6 bool) bool { _, auto := i.auto(is6); return auto }
	for _, wanted := range []func(*iface, bool) bool{automatic, (*iface).enabled} {
		for _, i := range n.order {
			for _, is6 := range []bool{true, false} {
				if i.holdsDNS() && i.mayHaveIP() && wanted(i, is6) {
					i.family(is6).dns = r
					return
				}
			}
		}
	}
	n.problems.Errorf(n.doc, "dns-resolver.config", "has no interface to belong to: no interface of this document has an address")
}

// checkDNSOptions refuses options of the resolver that NetworkManager does not know, see resolv.conf(5).
func (n *network) checkDNSOptions(options []string) {
	plain := []string{"debug", "edns0", "inet6", "ip6-bytestring", "ip6-dotint", "no-aaaa", "no-check-names", "no-ip6-dotint",
		"no-reload", "no-tld-query", "rotate", "single-request", "single-request-reopen", "trust-ad", "use-vc"}
	valued := []string{"ndots", "timeout", "attempts"}
	for idx, o := range options {
		name, _, has := strings.Cut(o, ":")
		if has && slices.Contains(valued, name) || !has && slices.Contains(plain, name) {
			continue
		}
		n.problems.Errorf(n.doc, fmt.Sprintf("dns-resolver.config.options[%d]", idx), "is %q; known are %s, and with a number %s:N",
			o, strings.Join(plain, ", "), strings.Join(valued, ":N, "))
	}
}
