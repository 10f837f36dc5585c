package attach

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// families maps "is IPv4" to the address family of netlink.
var families = map[bool]int{true: netlink.FAMILY_V4, false: netlink.FAMILY_V6}

// reroute sets, for each IP family, the default routes through the network that the plan names, and removes those of the other networks, in the kernel
// and in the results.
func (c *call) reroute(r *record, plan wire.Plan, results []*current.Result) error {
	for _, is4 := range []bool{true, false} {
		winner, gateways := defaultRouteNetwork(plan, results, is4)
		if winner == 0 {
			continue
		}
		if err := setDefault(r.NetNS, r.Networks[winner].Interface, gateways, families[is4]); err != nil {
			return withNetwork(r.Networks[winner].label(), fmt.Errorf("set the default route: %w", err))
		}
		for i, result := range results {
			keep := slices.DeleteFunc(slices.Clone(result.Routes), func(route *types.Route) bool { return isDefault(route.Dst, is4) })
			if i == winner {
				for _, g := range gateways {
					keep = append(keep, &types.Route{Dst: defaultNet(is4), GW: g.AsSlice()})
				}
				if len(gateways) == 0 {
					continue // the network keeps its own route
				}
			}
			if len(keep) != len(result.Routes) || i == winner {
				result.Routes, r.Networks[i].Routes, r.Networks[i].Rerouted = keep, keep, true
			}
		}
	}
	return nil
}

// defaultRouteNetwork returns the index in the record of the network that has the default route of a family, and its gateways; 0 if no further network
// has. A network without gateways has the default routes of the families of its addresses.
func defaultRouteNetwork(plan wire.Plan, results []*current.Result, is4 bool) (index int, gateways []netip.Addr) {
	for i, a := range plan.Attachments {
		if !a.DefaultRoute {
			continue
		}
		for _, g := range a.Gateways {
			if g.Is4() == is4 {
				gateways = append(gateways, g)
			}
		}
		if len(gateways) > 0 {
			return i + 1, gateways
		}
		has := slices.ContainsFunc(results[i+1].IPs, func(ip *current.IPConfig) bool { return (ip.Address.IP.To4() != nil) == is4 })
		if len(a.Gateways) == 0 && has {
			return i + 1, nil
		}
	}
	return 0, nil
}

func defaultNet(is4 bool) net.IPNet {
	if is4 {
		return net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
	}
	return net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
}

func isDefault(dst net.IPNet, is4 bool) bool {
	ones, _ := dst.Mask.Size()
	return ones == 0 && dst.IP.IsUnspecified() && (dst.IP.To4() != nil) == is4
}

// setDefault removes the default routes of a family through other interfaces, and adds those through gateways. Without gateways the interface keeps its own.
func setDefault(netns, name string, gateways []netip.Addr, family int) error {
	return ns.WithNetNSPath(netns, func(ns.NetNS) error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find interface %s: %w", name, err)
		}
		index := link.Attrs().Index
		routes, err := netlinkdump.All(func() ([]netlink.Route, error) {
			return netlink.RouteListFiltered(family, &netlink.Route{Table: syscall.RT_TABLE_MAIN}, netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			return fmt.Errorf("list routes: %w", err)
		}
		for _, route := range routes {
			ones := 0
			if route.Dst != nil {
				ones, _ = route.Dst.Mask.Size()
			}
			if ones != 0 || route.Type != syscall.RTN_UNICAST || route.LinkIndex == index && len(gateways) == 0 {
				continue
			}
			if err := netlink.RouteDel(&route); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("remove the default route %s: %w", route, err)
			}
		}
		for _, g := range gateways {
			dst := defaultNet(g.Is4())
			if err := netlink.RouteAppend(&netlink.Route{LinkIndex: index, Dst: &dst, Gw: g.AsSlice()}); err != nil {
				return fmt.Errorf("add the default route through %s: %w", g, err)
			}
		}
		return nil
	})
}

// mtusOf returns the MTU of each interface of a network namespace. The MTU is only part of the pod's status, so errors are ignored.
func mtusOf(netns string) map[string]int {
	mtus := map[string]int{}
	_ = ns.WithNetNSPath(netns, func(ns.NetNS) error {
		links, err := netlinkdump.All(netlink.LinkList)
		for _, l := range links {
			mtus[l.Attrs().Name] = l.Attrs().MTU
		}
		return err
	})
	return mtus
}

// checkKernel compares an interface, its addresses and its routes with what they were after the ADD.
func checkKernel(netns, name string, want *current.Result) error {
	return ns.WithNetNSPath(netns, func(ns.NetNS) error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("interface %s: %w", name, err)
		}
		existing, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
		if err != nil {
			return fmt.Errorf("list addresses of %s: %w", name, err)
		}
		for _, ip := range want.IPs {
			if ip.Interface != nil && *ip.Interface < len(want.Interfaces) && want.Interfaces[*ip.Interface].Name != name {
				continue
			}
			if !slices.ContainsFunc(existing, func(a netlink.Addr) bool { return a.IP.Equal(ip.Address.IP) }) {
				return fmt.Errorf("interface %s does not have the address %s", name, ip.Address.IP)
			}
		}
		// The plugin sbr moves routes to tables of their own.
		routes, err := netlinkdump.All(func() ([]netlink.Route, error) {
			return netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			return fmt.Errorf("list routes: %w", err)
		}
		for _, route := range want.Routes {
			if !slices.ContainsFunc(routes, func(r netlink.Route) bool { return sameRoute(r, *route, link.Attrs().Index) }) {
				return fmt.Errorf("interface %s does not have the route to %s", name, route.Dst.String())
			}
		}
		return nil
	})
}

// sameRoute reports whether a route of the kernel is the one that a plugin has returned for an interface. The kernel combines IPv6 routes of several
// interfaces to one destination into one route with several next hops. A plugin that returns no gateway uses that of the address.
func sameRoute(existing netlink.Route, want types.Route, link int) bool {
	if existing.Dst == nil { // the kernel's default route
		if !isDefault(want.Dst, existing.Family == netlink.FAMILY_V4) {
			return false
		}
	} else if !existing.Dst.IP.Equal(want.Dst.IP.Mask(want.Dst.Mask)) || !bytes.Equal(existing.Dst.Mask, want.Dst.Mask) {
		return false
	}
	hops := []*netlink.NexthopInfo{{LinkIndex: existing.LinkIndex, Gw: existing.Gw}}
	return slices.ContainsFunc(append(hops, existing.MultiPath...), func(hop *netlink.NexthopInfo) bool {
		return hop.LinkIndex == link && (want.GW == nil || want.GW.IsUnspecified() || hop.Gw.Equal(want.GW))
	})
}
