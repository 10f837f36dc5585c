package nmconn

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// mainTable is the kernel's table for routes that name none.
const mainTable = 254

// loopback is the interface for routes and rules that belong to no other interface.
const loopback = "lo"

// route is a route of the document with its addresses read.
type route struct {
	*nmstate.Route
	path string
	dest netip.Prefix
	hop  string
	src  string
}

// table returns the routing table; 0 is the main table, but NMState sorts it as 0.
func (r route) table() uint32 {
	if value(r.TableID) == 0 {
		return mainTable
	}
	return *r.TableID
}

func (r route) sortTable() uint32 {
	if r.TableID == nil {
		return mainTable
	}
	return *r.TableID
}

func (r route) line() string { return fmt.Sprintf("%s,%s,%d", r.dest, r.hop, max(value(r.Metric), 0)) }

func (r route) options() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table=%d", r.table())
	if r.Weight != nil {
		fmt.Fprintf(&b, ",weight=%d", *r.Weight)
	}
	if r.RouteType != "" {
		fmt.Fprintf(&b, ",type=%s", r.RouteType)
	}
	if r.CWND != nil {
		fmt.Fprintf(&b, ",cwnd=%d,lock-cwnd=true", *r.CWND)
	}
	if r.src != "" {
		fmt.Fprintf(&b, ",src=%s", r.src)
	}
	for _, a := range r.attributes() {
		if a.value != "" {
			fmt.Fprintf(&b, ",%s=%s", a.key, a.value)
		}
	}
	return b.String()
}

// attribute is an attribute of a route by the common name of NMState and NetworkManager; the value is empty if it is not set.
type attribute struct{ key, value string }

func (r route) attributes() []attribute {
	return []attribute{
		{"mtu", format(r.MTU)}, {"initcwnd", format(r.InitCWND)}, {"initrwnd", format(r.InitRWND)},
		{"quickack", format(r.QuickACK)}, {"advmss", format(r.AdvMSS)},
	}
}

// placeRoutes adds routes to the profiles of their interfaces, in NMState's order.
func (n *network) placeRoutes() {
	if n.doc.Routes == nil {
		return
	}
	var routes []route
	for idx := range n.doc.Routes.Config {
		r := route{Route: &n.doc.Routes.Config[idx], path: fmt.Sprintf("routes.config[%d]", idx)}
		if !r.Absent() && n.readRoute(&r) {
			routes = append(routes, r)
		}
	}
	slices.SortStableFunc(routes, compareRoutes)
	for at, r := range routes {
		if at > 0 && compareRoutes(routes[at-1], r) == 0 {
			if value(routes[at-1].Metric) != value(r.Metric) {
				n.problems.Warnf(n.doc, r.path, "is dropped: NMState takes it for the same route as %s, not looking at the metric", routes[at-1].path)
			}
			continue
		}
		n.placeRoute(r)
	}
}

// compareRoutes is NMState's order of routes. NMState considers equal routes as the same.
func compareRoutes(a, b route) int {
	return cmp.Or(
		-cmp.Compare(bit(a.dest.Addr().Is6()), bit(b.dest.Addr().Is6())),
		cmp.Compare(a.sortTable(), b.sortTable()),
		cmp.Compare(cmp.Or(a.NextHopInterface, loopback), cmp.Or(b.NextHopInterface, loopback)),
		cmp.Compare(a.dest.String(), b.dest.String()),
		cmp.Compare(a.hop, b.hop),
		cmp.Compare(a.src, b.src),
		cmp.Compare(value(a.Weight), value(b.Weight)),
		cmp.Compare(value(a.CWND), value(b.CWND)),
		cmp.Compare(a.RouteType, b.RouteType),
	)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// placeRoute adds a route to its interface's profile, which must have the family enabled.
func (n *network) placeRoute(r route) {
	is6 := r.dest.Addr().Is6()
	name := r.NextHopInterface
	if r.RouteType != "" {
		name = loopback
		n.loopback(r.path)
	}
	i := n.kernel[name]
	switch {
	case n.removed[name] != "":
		n.problems.Errorf(n.doc, r.path+".next-hop-interface", "is %q, which is to be %s", name, n.removed[name])
	case i == nil:
		n.problems.Errorf(n.doc, r.path+".next-hop-interface", "is %q, which is no interface of this document, so the route would be lost; add the interface", name)
	case !i.mayHaveIP() || !i.enabled(is6):
		n.problems.Errorf(n.doc, r.path+".next-hop-interface", "is %q, where %s is disabled; enable it there", name, familyName(is6))
	default:
		i.family(is6).routes = append(i.family(is6).routes, r)
	}
}

// loopback returns the interface lo, and adds it if it is missing.
func (n *network) loopback(path string) *iface {
	if lo := n.kernel[loopback]; lo != nil {
		return lo
	}
	lo := n.mention(loopback, path, nmstate.TypeLoopback)
	lo.completeLoopback()
	return lo
}

// completeLoopback adds the kernel's addresses of lo in each family without addresses, because lo always has both families. It does not modify the caller's
// document.
func (i *iface) completeLoopback() {
	changed := *i.Interface
	if ip := i.IPv4; ip == nil || ip.Enabled == nil || ip.On() && !ip.Automatic() && len(static(&ip.Auto)) == 0 {
		changed.IPv4 = loopback4()
	}
	if ip := i.IPv6; ip == nil || ip.Enabled == nil || ip.On() && !ip.Automatic() && len(static(&ip.Auto)) == 0 {
		changed.IPv6 = loopback6()
	}
	i.Interface = &changed
}

func loopback4() *nmstate.IPv4 {
	return &nmstate.IPv4{Auto: only(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 8)}
}

func loopback6() *nmstate.IPv6 { return &nmstate.IPv6{Auto: only(netip.IPv6Loopback(), 128)} }

func only(addr netip.Addr, bits uint8) nmstate.Auto {
	on := true
	return nmstate.Auto{Enabled: &on, Address: []nmstate.Address{{IP: addr, PrefixLength: bits}}}
}

func (i *iface) family(is6 bool) *family {
	if is6 {
		return &i.v6
	}
	return &i.v4
}

// enabled reports whether a family is on.
func (i *iface) enabled(is6 bool) bool {
	if i.ovsBridge() {
		return false
	}
	if is6 {
		return i.IPv6.On()
	}
	return enabled4(i.IPv4)
}

func familyName(is6 bool) string {
	if is6 {
		return "ipv6"
	}
	return "ipv4"
}
