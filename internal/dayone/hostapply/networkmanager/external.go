package networkmanager

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// external is the configuration of a device by a third party, which no profile restores.
type external struct {
	Interface string            `json:"interface"`
	Addresses []netip.Prefix    `json:"addresses,omitempty"`
	Routes    []livestate.Route `json:"routes,omitempty"`
}

// externals returns the devices without a profile that have addresses.
func externals(devices []deviceThen, state livestate.State) []external {
	var out []external
	for _, d := range devices {
		link, ok := state.Link(d.Interface)
		if d.UUID != "" || !ok || link.Kind == "loopback" || d.Interface == "lo" {
			continue
		}
		e := external{Interface: d.Interface}
		for _, a := range link.Addresses {
			if !a.Prefix.Addr().IsLinkLocalUnicast() {
				e.Addresses = append(e.Addresses, a.Prefix)
			}
		}
		for _, r := range state.Routes {
			if r.Interface == d.Interface && r.Protocol != "kernel" && r.Protocol != "ra" {
				e.Routes = append(e.Routes, r)
			}
		}
		if len(e.Addresses) > 0 {
			out = append(out, e)
		}
	}
	return out
}

// hasExternal reports whether a device has all addresses that third parties configured.
func hasExternal(state livestate.State, name string, then []external) bool {
	at := slices.IndexFunc(then, func(e external) bool { return e.Interface == name })
	link, ok := state.Link(name)
	if at < 0 || !ok {
		return false
	}
	for _, p := range then[at].Addresses {
		if !slices.ContainsFunc(link.Addresses, func(a livestate.Address) bool { return a.Prefix == p }) {
			return false
		}
	}
	return true
}

// restoreExternals restores the configuration by third parties. On-link routes come first, since gateways are reached through them.
func (b *Backend) restoreExternals(ctx context.Context, devices []external) error {
	for _, e := range devices {
		link, err := b.Netlink.LinkByName(e.Interface)
		if err != nil {
			return fmt.Errorf("restore %s: %w", e.Interface, err)
		}
		if err := b.Netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("restore %s: %w", e.Interface, err)
		}
		for _, p := range e.Addresses {
			if err := b.Netlink.AddrReplace(link, &netlink.Addr{IPNet: netaddr.IPNet(p)}); err != nil {
				return fmt.Errorf("restore %s of %s: %w", p, e.Interface, err)
			}
		}
		slices.SortStableFunc(e.Routes, func(x, y livestate.Route) int { return hops(x) - hops(y) })
		for _, r := range e.Routes {
			route := &netlink.Route{
				LinkIndex: link.Attrs().Index, Dst: netaddr.IPNet(r.Destination.Masked()), Priority: r.Metric, Table: r.Table,
				Gw: r.Via.AsSlice(), Src: r.Source.AsSlice(),
			}
			if !r.Via.IsValid() {
				route.Scope = netlink.SCOPE_LINK
			}
			if err := b.Netlink.RouteReplace(route); err != nil {
				return fmt.Errorf("restore the route to %s by %s: %w", r.Destination, e.Interface, err)
			}
		}
	}
	return ctx.Err()
}

func hops(r livestate.Route) int {
	if r.Via.IsValid() {
		return 1
	}
	return 0
}
