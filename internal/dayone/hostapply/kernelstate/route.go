package kernelstate

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// localTable is the kernel's table for addresses of this host.
const localTable = 255

func (r Reader) routes(names map[int]string) ([]livestate.Route, error) {
	var out []livestate.Route
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		// Every table, not only main.
		all, err := r.Netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
		if err != nil {
			return nil, fmt.Errorf("list routes: %w", err)
		}
		for _, route := range all {
			if route.Table == localTable || route.Type == unix.RTN_LOCAL || route.Type == unix.RTN_MULTICAST || route.Type == unix.RTN_BROADCAST || route.Type == unix.RTN_ANYCAST {
				continue
			}
			out = append(out, hops(route, family, names)...)
		}
	}
	return out, nil
}

// hops returns one route for each next hop.
func hops(route netlink.Route, family int, names map[int]string) []livestate.Route {
	base := livestate.Route{
		Destination: destination(route.Dst, family), Via: addr(route.Gw), Interface: names[route.LinkIndex], Metric: route.Priority,
		Table: route.Table, Type: routeType(route.Type), Source: addr(route.Src), Protocol: protocol(route.Protocol),
	}
	if len(route.MultiPath) == 0 {
		return []livestate.Route{base}
	}
	var out []livestate.Route
	for _, hop := range route.MultiPath {
		one := base
		one.Via, one.Interface = addr(hop.Gw), names[hop.LinkIndex]
		out = append(out, one)
	}
	return out
}

func destination(dst *net.IPNet, family int) netip.Prefix {
	if dst == nil || dst.IP == nil {
		if family == netlink.FAMILY_V4 {
			return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		}
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return prefix(dst)
}

func prefix(n *net.IPNet) netip.Prefix {
	if n == nil {
		return netip.Prefix{}
	}
	ones, _ := n.Mask.Size()
	return netip.PrefixFrom(addr(n.IP), ones)
}

func addr(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

func routeType(t int) string {
	switch t {
	case unix.RTN_BLACKHOLE:
		return "blackhole"
	case unix.RTN_UNREACHABLE:
		return "unreachable"
	case unix.RTN_PROHIBIT:
		return "prohibit"
	}
	return ""
}

func protocol(p netlink.RouteProtocol) string {
	switch p {
	case unix.RTPROT_KERNEL:
		return "kernel"
	case unix.RTPROT_BOOT:
		return "boot"
	case unix.RTPROT_STATIC:
		return "static"
	case unix.RTPROT_DHCP:
		return "dhcp"
	case unix.RTPROT_RA:
		return "ra"
	}
	return fmt.Sprint(int(p))
}
