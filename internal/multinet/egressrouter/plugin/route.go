package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/defaultroute"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

// route sets the default route through the gateway, and moves the pod's earlier routes to the table of marked packets, which are those of clients.
func (a *attachment) route(link netlink.Link) error {
	client, err := netlink.LinkByName(egressrouter.ClientInterface)
	if err != nil {
		return fmt.Errorf("read interface %s: %w", egressrouter.ClientInterface, err)
	}
	family := number(a.conf.Family())
	main, err := routes(family, unix.RT_TABLE_MAIN)
	if err != nil {
		return err
	}
	if err := removeRoutes(a.conf.Family()); err != nil {
		return err
	}
	for _, route := range clientRoutes(main, client.Attrs().Index, a.conf.Family()) {
		if err := netlink.RouteReplace(&route); err != nil {
			return fmt.Errorf("add the route to clients %s: %w", route, err)
		}
	}
	if err := netlink.RuleAdd(markRule(a.conf.Family())); err != nil {
		return fmt.Errorf("add the policy rule for clients: %w", err)
	}
	for _, route := range main {
		if defaultroute.IsDefault(route) {
			if err := netlink.RouteDel(&route); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("remove the default route %s: %w", route, err)
			}
		}
	}
	return a.defaultRoute(link, netlink.RouteReplace)
}

func (a *attachment) defaultRoute(link netlink.Link, do func(*netlink.Route) error) error {
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: defaultPrefix(a.conf.Family()), Gw: a.conf.Gateway.AsSlice(), Table: unix.RT_TABLE_MAIN}
	if err := do(route); err != nil {
		return fmt.Errorf("default route by %s on %s: %w", a.conf.Gateway, a.link, err)
	}
	return nil
}

func routes(family, table int) ([]netlink.Route, error) {
	all, err := netlinkdump.All(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(family, &netlink.Route{Table: table}, netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return nil, fmt.Errorf("list routes of table %d: %w", table, err)
	}
	return all, nil
}

// clientRoutes returns the routes of marked packets: the routes through the client's interface, and a default route. If another network has already
// replaced the pod's default route, it uses the gateway of the routes to other pods. Without a gateway of this family, clients are unreachable, and the
// default route is of the type unreachable.
func clientRoutes(main []netlink.Route, client int, f egressrouter.Family) []netlink.Route {
	var copies, defaults, others []netlink.Route
	for _, route := range main {
		if route.LinkIndex != client || route.Type != 0 && route.Type != unix.RTN_UNICAST {
			continue
		}
		kept := netlink.Route{LinkIndex: client, Dst: route.Dst, Gw: route.Gw, Scope: route.Scope, MTU: route.MTU, Flags: route.Flags & int(netlink.FLAG_ONLINK), Table: egressrouter.RouteTable}
		byDefault := kept
		byDefault.Dst = defaultPrefix(f)
		switch {
		case defaultroute.IsDefault(route):
			defaults = append(defaults, byDefault)
			continue
		case len(route.Gw) > 0:
			others = append(others, byDefault)
		}
		copies = append(copies, kept)
	}
	// Routes without a gateway come first, because gateways are reached through them.
	slices.SortStableFunc(copies, func(a, b netlink.Route) int { return cmp.Compare(min(len(a.Gw), 1), min(len(b.Gw), 1)) })
	defaults = append(append(defaults, others...), netlink.Route{Dst: defaultPrefix(f), Type: unix.RTN_UNREACHABLE, Table: egressrouter.RouteTable})
	return append(copies, defaults[0])
}

func markRule(f egressrouter.Family) *netlink.Rule {
	rule := netlink.NewRule()
	rule.Family, rule.Mark, rule.Table, rule.Priority = number(f), egressrouter.Mark, egressrouter.RouteTable, egressrouter.RulePriority
	return rule
}

// removeRoutes removes the policy rule and its table.
func removeRoutes(f egressrouter.Family) error {
	for {
		err := netlink.RuleDel(markRule(f))
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAFNOSUPPORT) {
			break
		}
		if err != nil {
			return fmt.Errorf("remove the policy rule for clients: %w", err)
		}
	}
	all, err := routes(number(f), egressrouter.RouteTable)
	if err != nil {
		return err
	}
	for _, route := range all {
		if err := netlink.RouteDel(&route); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove route %s: %w", route, err)
		}
	}
	return nil
}
