package node

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/providers/toy/agentconfig"
)

// protocol marks the agent's routes to other nodes. The kernel gives it no meaning; /etc/iproute2/rt_protos has no name for it.
const protocol = 116

// desired are the gateways by block: the other nodes that have a block and an address.
func desired(table agentconfig.Nodes, self string) map[netip.Prefix]netip.Addr {
	out := map[netip.Prefix]netip.Addr{}
	for name, n := range table.Nodes {
		if name != self && n.Block.IsValid() && n.Address.IsValid() {
			out[n.Block] = n.Address
		}
	}
	return out
}

// applyRoutes makes the kernel's routes to other nodes as desired. Everything is tried.
func applyRoutes(want map[netip.Prefix]netip.Addr) error {
	have, err := netlinkdump.All(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: protocol, Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	right := map[netip.Prefix]bool{}
	var errs []error
	for i := range have {
		to, ok := netaddr.FromIPNet(have[i].Dst)
		via, _ := netip.AddrFromSlice(have[i].Gw)
		if gateway, wanted := want[to]; ok && wanted && gateway == via.Unmap() {
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
		if err := netlink.RouteReplace(&netlink.Route{Dst: netaddr.IPNet(to), Gw: via.AsSlice(), Protocol: protocol}); err != nil {
			errs = append(errs, fmt.Errorf("route %s via %s: %w", to, via, err))
		}
	}
	return errors.Join(errs...)
}
