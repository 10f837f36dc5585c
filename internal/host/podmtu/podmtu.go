// Package podmtu changes the MTU of links that are in use, without losing packets: that of a pod, or of the node itself at its switch. What an
// interface receives and what is sent by its routes are changed apart, in the order in which no end sends what the other one does not take.
package podmtu

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
)

// leastIPv6 is the least MTU that IPv6 works with (RFC 8200).
const leastIPv6 = 1280

// Link is a pair of interfaces.
type Link struct {
	// Outside and Inside are the network namespaces of the two ends.
	Outside, Inside *netlink.Handle
	// Near is the end at the switch, Far the one by whose routes packets are sent.
	Near, Far netlink.Link
	// Enter calls a function in the namespace of Far, and ProcSys is where the kernel's settings are. They are for IPv6: without it, Enter is nil.
	Enter   func(func() error) error
	ProcSys string
}

// Set has the link take packets of mtu bytes, and routes send at most routable; 0 is the same as mtu. What is so already stays. The end at the switch is
// raised, and never lowered: the other one decides which packets pass, and Open vSwitch may lose a packet when the MTU of a port changes.
func (l Link) Set(mtu, routable int) error {
	steps := []func() error{
		func() error { return l.ends(mtu) },
		func() error { return LimitRoutes(l.Inside, l.Far, routable) },
	}
	if routable != 0 {
		// Nothing longer is sent when longer packets are taken.
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

// keepLimits has the limits of IPv6 routes survive that the interface is raised from just that limit: the kernel takes a limit that is the MTU of
// the interface for one that follows it. It compares with a setting that routes with limits do not use, and sets that again when the interface is
// raised. At the least MTU of IPv6 there is no lower one; limits are then set again afterwards.
func (l Link) keepLimits(mtu, routable int) error {
	if a := l.Far.Attrs(); l.Enter == nil || a.MTU >= mtu || a.MTU != routable || routable <= leastIPv6 {
		return nil
	}
	routes, err := routes(l.Inside, l.Far, netlink.FAMILY_V6)
	if err != nil || len(routes) == 0 {
		return err
	}
	return l.Enter(func() error {
		return sysctl.Set(l.ProcSys, "net/ipv6/conf/"+l.Far.Attrs().Name+"/mtu", strconv.Itoa(leastIPv6))
	})
}

// ends sets the MTU of interfaces.
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

// LimitRoutes has all routes through an interface send at most limit bytes in a packet; 0 removes the limit.
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
