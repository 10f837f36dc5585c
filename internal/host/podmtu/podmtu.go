// Package podmtu changes the MTU of links that are in use without packet loss: the link of a pod, or that of the node to its switch. It changes the MTU
// of the interfaces and of the routes separately, in an order in which no end sends packets that the other does not accept.
package podmtu

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
)

// minMTUv6 is the minimum link MTU of IPv6 (RFC 8200).
const minMTUv6 = 1280

// Link is a pair of interfaces.
type Link struct {
	// Outside and Inside are the network namespaces of the two ends.
	Outside, Inside *netlink.Handle
	// Near is the end at the switch, Far the end whose routes limit packets.
	Near, Far netlink.Link
	// Enter calls a function in the namespace of Far, and ProcSys is the directory of sysctls. Both are used for IPv6; without IPv6, Enter is nil.
	Enter   func(func() error) error
	ProcSys string
}

// Set sets the MTU of the link to mtu bytes, and that of its routes to routable; 0 means mtu. It changes only differences. It never lowers the MTU of the
// end at the switch: the other end limits the packets, and Open vSwitch may lose a packet when the MTU of a port changes.
func (l Link) Set(mtu, routable int) error {
	steps := []func() error{
		func() error { return l.ends(mtu) },
		func() error { return LimitRoutes(l.Inside, l.Far, routable) },
	}
	if routable != 0 {
		// Limit the routes before the interface accepts longer packets.
		steps = []func() error{
			func() error { return l.keepLimits(mtu, routable) },
			func() error { return LimitRoutes(l.Inside, l.Far, routable) },
			func() error { return l.ends(mtu) },
			func() error { return LimitRoutes(l.Inside, l.Far, routable) },
		}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// keepLimits preserves the MTU of IPv6 routes when the MTU of the interface is raised from the same value: the kernel assumes that such a route follows
// the interface. It compares with a sysctl that routes with an MTU do not use, so keepLimits lowers the sysctl, and raising the interface resets it. At
// the minimum MTU of IPv6 that is impossible, and the route MTUs are set again afterwards.
func (l Link) keepLimits(mtu, routable int) error {
	if a := l.Far.Attrs(); l.Enter == nil || a.MTU >= mtu || a.MTU != routable || routable <= minMTUv6 {
		return nil
	}
	routes, err := routes(l.Inside, l.Far, netlink.FAMILY_V6)
	if err != nil || len(routes) == 0 {
		return err
	}
	return l.Enter(func() error {
		return sysctl.Set(l.ProcSys, "net/ipv6/conf/"+l.Far.Attrs().Name+"/mtu", strconv.Itoa(minMTUv6))
	})
}

// ends sets the MTU of the interfaces.
func (l Link) ends(mtu int) error {
	if l.Near.Attrs().MTU < mtu {
		if err := l.Outside.LinkSetMTU(l.Near, mtu); err != nil {
			return fmt.Errorf("set MTU of %s to %d: %w", l.Near.Attrs().Name, mtu, err)
		}
	}
	if l.Far.Attrs().MTU != mtu {
		if err := l.Inside.LinkSetMTU(l.Far, mtu); err != nil {
			return fmt.Errorf("set MTU of %s to %d: %w", l.Far.Attrs().Name, mtu, err)
		}
	}
	return nil
}

// LimitRoutes sets the MTU of all routes through an interface to limit bytes; 0 removes it.
func LimitRoutes(at *netlink.Handle, link netlink.Link, limit int) error {
	var errs []error
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		routes, err := routes(at, link, family)
		if err != nil {
			return err
		}
		for i := range routes {
			r := &routes[i]
			if r.MTU == limit {
				continue
			}
			r.MTU = limit
			if err := at.RouteReplace(r); err != nil {
				errs = append(errs, fmt.Errorf("limit the route of %s to %s to %d: %w", link.Attrs().Name, r.Dst, limit, err))
			}
		}
	}
	return errors.Join(errs...)
}

func routes(at *netlink.Handle, link netlink.Link, family int) ([]netlink.Route, error) {
	routes, err := netlinkdump.All(func() ([]netlink.Route, error) { return at.RouteList(link, family) })
	if err != nil {
		return nil, fmt.Errorf("list routes of %s: %w", link.Attrs().Name, err)
	}
	return routes, nil
}
