// Package defaultroute reads the MTU and the links of the host's default routes, and the interfaces with addresses, in the current network namespace.
package defaultroute

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
)

// ErrNoRoute is returned by MTU on a host without a default route.
var ErrNoRoute = errors.New("no default route, neither IPv4 nor IPv6")

// Host reads routes and links of the host. It is a *netlink.Handle, or a fake.
type Host interface {
	RouteList(link netlink.Link, family int) ([]netlink.Route, error)
	LinkByIndex(index int) (netlink.Link, error)
}

// MTU returns the smallest MTU in bytes of the links of all IPv4 and IPv6 default routes, including all next hops of multipath routes, and the names of
// these links in order. Traffic between nodes may use any of them.
func MTU(host Host) (int, []string, error) {
	indexes, err := links(host)
	if err != nil {
		return 0, nil, err
	}
	if len(indexes) == 0 {
		return 0, nil, ErrNoRoute
	}
	least, names := 0, []string(nil)
	for _, index := range indexes {
		link, err := host.LinkByIndex(index)
		if err != nil {
			return 0, nil, fmt.Errorf("read link %d of a default route: %w", index, err)
		}
		names = append(names, link.Attrs().Name)
		if mtu := link.Attrs().MTU; least == 0 || mtu < least {
			least = mtu
		}
	}
	return least, names, nil
}

// Addresses reads links and addresses of the host. It is a *netlink.Handle, or a fake.
type Addresses interface {
	LinkList() ([]netlink.Link, error)
	AddrList(link netlink.Link, family int) ([]netlink.Addr, error)
}

// Addressed returns the names of the interfaces with a global unicast address, sorted and without duplicates. The node's ends of pod links have none.
func Addressed(host Addresses) ([]string, error) {
	all, err := host.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	names := map[int]string{}
	for _, l := range all {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	addresses, err := host.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	var found []string
	for _, a := range addresses {
		if name := names[a.LinkIndex]; name != "" && a.IPNet != nil && a.IP.IsGlobalUnicast() {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// Link returns the index of the link of a family's default route with the lowest metric. The error is ErrNoRoute if there is none.
func Link(host Host, family int) (int, error) {
	routes, err := host.RouteList(nil, family)
	if err != nil {
		return 0, fmt.Errorf("list routes: %w", err)
	}
	index, metric := 0, 0
	for _, route := range routes {
		link := route.LinkIndex
		if link == 0 && len(route.MultiPath) > 0 {
			link = route.MultiPath[0].LinkIndex
		}
		if IsDefault(route) && link > 0 && (index == 0 || route.Priority < metric) {
			index, metric = link, route.Priority
		}
	}
	if index == 0 {
		return 0, ErrNoRoute
	}
	return index, nil
}

// links returns the indexes of the links of all default routes, each once, in order.
func links(host Host) ([]int, error) {
	var indexes []int
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		routes, err := host.RouteList(nil, family)
		if err != nil {
			return nil, fmt.Errorf("list routes: %w", err)
		}
		for _, route := range routes {
			if !IsDefault(route) {
				continue
			}
			if route.LinkIndex > 0 {
				indexes = append(indexes, route.LinkIndex)
			}
			for _, hop := range route.MultiPath {
				indexes = append(indexes, hop.LinkIndex)
			}
		}
	}
	slices.Sort(indexes)
	return slices.Compact(indexes), nil
}

// IsDefault reports whether a route is a unicast default route. It is false for unreachable and blackhole routes, which every IPv6 host has.
func IsDefault(route netlink.Route) bool {
	if route.Type != 0 && route.Type != unicast {
		return false
	}
	if route.Dst == nil {
		return true
	}
	ones, _ := route.Dst.Mask.Size()
	return ones == 0 && route.Dst.IP.IsUnspecified()
}

// unicast is RTN_UNICAST of linux/rtnetlink.h.
const unicast = 1
