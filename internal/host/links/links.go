// Package links makes interfaces of the node have exactly the addresses and routes that an agent wants.
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

// SetAddresses gives an interface exactly these addresses, besides link-local ones.
func SetAddresses(link netlink.Link, want []netip.Prefix) error {
	have, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return fmt.Errorf("list addresses: %w", err)
	}
	var errs []error
	right := map[netip.Prefix]bool{}
	for i := range have {
		p, ok := netaddr.FromIPNet(have[i].IPNet)
		if !ok || p.Addr().IsLinkLocalUnicast() {
			continue
		}
		if right[p] = slices.Contains(want, p); !right[p] {
			errs = append(errs, netlink.AddrDel(link, &have[i]))
		}
	}
	for _, p := range want {
		if !right[p] {
			errs = append(errs, netlink.AddrReplace(link, &netlink.Addr{IPNet: netaddr.IPNet(p), Flags: noDAD(p)}))
		}
	}
	return errors.Join(errs...)
}

// noDAD skips the detection of duplicate addresses: agents have each address once.
func noDAD(p netip.Prefix) int {
	if p.Addr().Is6() {
		return unix.IFA_F_NODAD
	}
	return 0
}

// Protocol marks the routes of agents. The kernel gives it no meaning.
const Protocol = 118

// SetRoutes gives an interface exactly these routes, by destination, besides those of the kernel and of third parties. Without a next hop a
// destination is on the link. With an MTU of 0 it is that of the link.
func SetRoutes(link netlink.Link, want map[netip.Prefix]netip.Addr, mtu int) error {
	have, err := netlinkdump.All(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Protocol: Protocol, LinkIndex: link.Attrs().Index}, netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_OIF)
	})
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	var errs []error
	right := map[netip.Prefix]bool{}
	for i := range have {
		to, ok := netaddr.FromIPNet(have[i].Dst)
		via, _ := netip.AddrFromSlice(have[i].Gw) // the zero value without a next hop
		if next, wanted := want[to]; ok && wanted && next == via.Unmap() && have[i].MTU == mtu {
			right[to] = true
			continue
		}
		if err := netlink.RouteDel(&have[i]); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("remove the route to %s: %w", to, err))
		}
	}
	for to, via := range want {
		if right[to] {
			continue
		}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: netaddr.IPNet(to), Protocol: Protocol, MTU: mtu}
		if via.IsValid() {
			route.Gw = via.AsSlice()
		} else {
			route.Scope = netlink.SCOPE_LINK
		}
		if err := netlink.RouteReplace(route); err != nil {
			errs = append(errs, fmt.Errorf("route %s via %s: %w", to, via, err))
		}
	}
	return errors.Join(errs...)
}
