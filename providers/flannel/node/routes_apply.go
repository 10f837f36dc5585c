package node

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// outcome is the result of a reconcile of the kernel.
type outcome struct {
	// Set and Removed are the numbers of changes.
	Set, Removed int
	// Unreachable are the routes that the kernel rejects since Via is not on the interface's link.
	Unreachable []route
	// Errors are all other errors.
	Errors []error
}

// applyRoutes reconciles the kernel's routes and neighbours. It deletes nothing unless sweep is true.
func applyRoutes(network agentconfig.Network, on links, want desired, sweep bool) outcome {
	var out outcome
	names, err := linkNames()
	if err != nil {
		return outcome{Errors: []error{err}}
	}
	live, err := readRoutes(network, names)
	if err != nil {
		return outcome{Errors: []error{err}}
	}
	// Neighbours first: with a route but no neighbour the kernel would try to resolve the address.
	if len(want.Neighbors) > 0 || sweep {
		out.applyNeighbors(on, want.Neighbors, sweep)
	}
	set, remove := compareRoutes(network, on, want.Routes, live)
	for _, r := range set {
		err := changeRoute(netlink.RouteReplace, r, names)
		switch {
		case err == nil:
			out.Set++
		case unreachable(err):
			out.Unreachable = append(out.Unreachable, r)
		default:
			out.Errors = append(out.Errors, fmt.Errorf("set route to %s via %s: %w", r.To, r.Via, err))
		}
	}
	if !sweep {
		return out
	}
	for _, r := range remove {
		if err := changeRoute(netlink.RouteDel, r, names); err != nil && !errors.Is(err, unix.ESRCH) {
			out.Errors = append(out.Errors, fmt.Errorf("remove route to %s via %s: %w", r.To, r.Via, err))
			continue
		}
		out.Removed++
	}
	return out
}

// unreachable reports whether the kernel rejected a gateway that is not on the link. The errors of IPv4 and IPv6 differ.
func unreachable(err error) bool {
	return errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH)
}

func changeRoute(change func(*netlink.Route) error, r route, names map[int]string) error {
	for index, name := range names {
		if name != r.Link {
			continue
		}
		out := &netlink.Route{LinkIndex: index, Dst: netaddr.IPNet(r.To), Gw: r.Via.AsSlice()}
		if r.OnLink {
			out.SetFlag(netlink.FLAG_ONLINK)
		}
		return change(out)
	}
	return fmt.Errorf("there is no interface %q", r.Link)
}

// readRoutes returns the routes of the main table into the network.
func readRoutes(network agentconfig.Network, names map[int]string) ([]kernelRoute, error) {
	var out []kernelRoute
	for _, family := range families(network) {
		routes, err := netlinkdump.All(func() ([]netlink.Route, error) { return netlink.RouteList(nil, family) })
		if err != nil {
			return nil, fmt.Errorf("list routes: %w", err)
		}
		for _, r := range routes {
			to, ok := netaddr.FromIPNet(r.Dst)
			if !ok || !inNetwork(network, to) || r.Priority != 0 && family == netlink.FAMILY_V4 {
				continue
			}
			via, _ := netip.AddrFromSlice(r.Gw)
			out = append(out, kernelRoute{
				route: route{To: to, Via: via.Unmap(), Link: names[r.LinkIndex], OnLink: r.Flags&int(netlink.FLAG_ONLINK) != 0},
				Boot:  r.Protocol == unix.RTPROT_BOOT,
			})
		}
	}
	return out, nil
}

func families(network agentconfig.Network) []int {
	if network.DualStack() {
		return []int{netlink.FAMILY_V4, netlink.FAMILY_V6}
	}
	return []int{netlink.FAMILY_V4}
}

func linkNames() (map[int]string, error) {
	all, err := netlinkdump.All(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	names := make(map[int]string, len(all))
	for _, l := range all {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	return names, nil
}
