package nmconn

import (
	"net/netip"
	"strings"
)

// readRoute parses and checks a route.
func (n *network) readRoute(r *route) bool {
	before := len(n.problems)
	n.readDestination(r)
	r.hop = n.readAddr(r.path+".next-hop-address", r.NextHopAddress, r.dest)
	r.src = n.readAddr(r.path+".source", r.Source, r.dest)
	switch {
	case r.RouteType == "" && r.NextHopInterface == "":
		n.problems.Errorf(n.doc, r.path+".next-hop-interface", "is missing; a route leads to an interface unless it has a route-type")
	case r.RouteType != "" && (r.hop != "" || r.NextHopInterface != "" && r.NextHopInterface != loopback):
		n.problems.Errorf(n.doc, r.path, "is of type %s and leads nowhere; remove the next hop", r.RouteType)
	}
	if r.Weight != nil && (*r.Weight < 1 || *r.Weight > 256) {
		n.problems.Errorf(n.doc, r.path+".weight", "is %d; it is from 1 to 256", *r.Weight)
	}
	if r.Weight != nil && r.dest.Addr().Is6() {
		n.problems.Errorf(n.doc, r.path+".weight", "is only for routes of IPv4")
	}
	if r.CWND != nil && *r.CWND == 0 {
		n.problems.Errorf(n.doc, r.path+".cwnd", "is 0; it is at least 1")
	}
	for _, a := range r.attributes() {
		if a.value == "0" {
			n.problems.Errorf(n.doc, r.path+"."+a.key, "is 0; it is at least 1")
		}
	}
	return len(n.problems) == before
}

func (n *network) readDestination(r *route) {
	at := r.path + ".destination"
	if r.Destination == "" {
		n.problems.Errorf(n.doc, at, "is missing; write 0.0.0.0/0 or ::/0 for the default route")
		return
	}
	dest, ok := prefix(r.Destination)
	if !ok {
		n.problems.Errorf(n.doc, at, "is %q; a network such as 192.0.2.0/24 or 2001:db8::/64 is wanted", r.Destination)
		return
	}
	r.dest = dest
	given, _, _ := strings.Cut(r.Destination, "/")
	if addr, err := netip.ParseAddr(given); err == nil && addr.Is4() && addr.As4()[0] == 0 && dest.Bits() >= 8 && r.RouteType == "" {
		n.problems.Errorf(n.doc, at, "is %q; no route can lead into 0.0.0.0/8. Write 0.0.0.0/0 for the default route", r.Destination)
	}
}

// readAddr parses an address of the family of a destination; empty for empty text.
func (n *network) readAddr(path, s string, dest netip.Prefix) string {
	if s == "" {
		return ""
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		n.problems.Errorf(n.doc, path, "is %q, which is not an IP address", s)
		return ""
	}
	if dest.IsValid() && addr.Is6() != dest.Addr().Is6() {
		n.problems.Errorf(n.doc, path, "is %q, which is not of the family of the destination %s", s, dest)
		return ""
	}
	return addr.String()
}

// prefix parses a network or an address, and clears the host bits.
func prefix(s string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err == nil
}
