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

// protocol marks the agent's routes to other nodes. It has no meaning in the kernel and no name in /etc/iproute2/rt_protos.
const protocol = 116

// desired returns the gateways by block, for all other nodes with a block and an address.
func desired(table agentconfig.Nodes, self string) map[netip.Prefix]netip.Addr {
	out := map[netip.Prefix]netip.Addr{}
	for name, n := range table.Nodes {
		if name != self && n.Block.IsValid() && n.Address.IsValid() {
			out[n.Block] = n.Address
		}
	}
	return out
}

// applyRoutes reconciles the kernel's routes to other nodes. It continues after errors.
func applyRoutes(want map[netip.Prefix]netip.Addr) error {
	live, err := netlinkdump.All(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: protocol, Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	correct := map[netip.Prefix]bool{}
	var errs []error
	for i := range live {
		to, ok := netaddr.FromIPNet(live[i].Dst)
		via, _ := netip.AddrFromSlice(live[i].Gw)
		if gateway, wanted := want[to]; ok && wanted && gateway == via.Unmap() {
			correct[to] = true
			continue
		}
		if err := netlink.RouteDel(&live[i]); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("remove the route to %s: %w", to, err))
		}
	}
	for to, via := range want {
		if correct[to] {
			continue
		}
		if err := netlink.RouteReplace(&netlink.Route{Dst: netaddr.IPNet(to), Gw: via.AsSlice(), Protocol: protocol}); err != nil {
			errs = append(errs, fmt.Errorf("route %s via %s: %w", to, via, err))
		}
	}
	return errors.Join(errs...)
}
