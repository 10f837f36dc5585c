// Package links sets the addresses and routes of interfaces of the node.
package links

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// SetAddresses replaces the addresses of an interface, except link-local ones, and reports whether it changed any.
func SetAddresses(link netlink.Link, desired []netip.Prefix) (changed bool, err error) {
	live, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return false, fmt.Errorf("list addresses: %w", err)
	}
	var errs []error
	kept := map[netip.Prefix]bool{}
	for i := range live {
		p, ok := netaddr.FromIPNet(live[i].IPNet)
		if !ok || p.Addr().IsLinkLocalUnicast() {
			continue
		}
		if kept[p] = slices.Contains(desired, p); !kept[p] {
			errs = append(errs, netlink.AddrDel(link, &live[i]))
		}
	}
	for _, p := range desired {
		if !kept[p] {
			errs = append(errs, netlink.AddrReplace(link, &netlink.Addr{IPNet: netaddr.IPNet(p), Flags: noDAD(p)}))
		}
	}
	return len(errs) > 0, errors.Join(errs...)
}

// noDAD returns the flag that disables duplicate address detection, which IPv6 addresses of agents do not need.
func noDAD(p netip.Prefix) int {
	if p.Addr().Is6() {
		return unix.IFA_F_NODAD
	}
	return 0
}

// Protocol is the protocol number of agents' routes. It has no meaning for the kernel.
const Protocol = 118

// defaultPriority returns the priority that the kernel assigns to routes without one.
func defaultPriority(to netip.Prefix) int {
	if to.Addr().Is6() {
		return 1024
	}
	return 0
}

// Routes returns the routes of agents through an interface.
func Routes(link netlink.Link) ([]netlink.Route, error) {
	all, err := netlinkdump.All(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Protocol: Protocol, LinkIndex: link.Attrs().Index}, netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_OIF)
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return all, nil
}

// SetRoutes replaces the routes of agents through an interface. desired maps destinations to next hops; a destination with the zero address is on the
// link. With an MTU of 0, the MTU of the link is used. SetRoutes reports whether it changed any route.
func SetRoutes(link netlink.Link, desired map[netip.Prefix]netip.Addr, mtu int) (changed bool, err error) {
	live, err := Routes(link)
	if err != nil {
		return false, err
	}
	var errs []error
	kept, replaced := map[netip.Prefix]bool{}, map[netip.Prefix]*netlink.Route{}
	for i := range live {
		to, ok := netaddr.FromIPNet(live[i].Dst)
		via, _ := netip.AddrFromSlice(live[i].Gw) // the zero value without a next hop
		next, wanted := desired[to]
		wanted = ok && wanted && next == via.Unmap()
		switch {
		case wanted && live[i].MTU == mtu:
			kept[to] = true
		case wanted && live[i].Priority == defaultPriority(to):
			replaced[to] = &live[i] // replaced without a gap
		default:
			errs = append(errs, remove(to, &live[i]))
		}
	}
	for to, old := range replaced {
		if kept[to] {
			errs = append(errs, remove(to, old))
		}
	}
	for to, via := range desired {
		if kept[to] {
			continue
		}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: netaddr.IPNet(to), Protocol: Protocol, MTU: mtu}
		if via.IsValid() {
			route.Gw = via.AsSlice()
		} else {
			route.Scope = netlink.SCOPE_LINK
		}
		err := netlink.RouteReplace(route)
		if err != nil {
			err = fmt.Errorf("route %s via %s: %w", to, via, err)
		}
		errs = append(errs, err)
	}
	return len(errs) > 0, errors.Join(errs...)
}

func remove(to netip.Prefix, route *netlink.Route) error {
	if err := netlink.RouteDel(route); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("remove the route to %s: %w", to, err)
	}
	return nil
}
