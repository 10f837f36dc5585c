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

// standard is the priority that the kernel gives routes without one.
func standard(to netip.Prefix) int {
	if to.Addr().Is6() {
		return 1024
	}
	return 0
}

// Routes returns the routes of agents by an interface.
func Routes(link netlink.Link) ([]netlink.Route, error) {
	all, err := netlinkdump.All(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Protocol: Protocol, LinkIndex: link.Attrs().Index}, netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_OIF)
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return all, nil
}

// SetRoutes gives an interface exactly these routes, by destination, besides those of the kernel and of third parties. Without a next hop a
// destination is on the link. With an MTU of 0 it is that of the link.
func SetRoutes(link netlink.Link, want map[netip.Prefix]netip.Addr, mtu int) error {
	have, err := Routes(link)
	if err != nil {
		return err
	}
	var errs []error
	right, replaced := map[netip.Prefix]bool{}, map[netip.Prefix]*netlink.Route{}
	for i := range have {
		to, ok := netaddr.FromIPNet(have[i].Dst)
		via, _ := netip.AddrFromSlice(have[i].Gw) // the zero value without a next hop
		next, wanted := want[to]
		wanted = ok && wanted && next == via.Unmap()
		switch {
		case wanted && have[i].MTU == mtu:
			right[to] = true
		case wanted && have[i].Priority == standard(to):
			replaced[to] = &have[i] // packets have a route all the time
		default:
			errs = append(errs, remove(to, &have[i]))
		}
	}
	for to, old := range replaced {
		if right[to] {
			errs = append(errs, remove(to, old))
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

func remove(to netip.Prefix, route *netlink.Route) error {
	if err := netlink.RouteDel(route); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("remove the route to %s: %w", to, err)
	}
	return nil
}
