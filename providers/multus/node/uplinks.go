package node

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// Interfaces are the interfaces of a node by name, sorted.
type Interfaces struct {
	All []string
	// Uplinks are the interfaces that the node itself needs: they have a global address or a default route.
	Uplinks []string
	// Default are those with a default route.
	Default []string
	// Networks are the networks of the node's global addresses, by interface.
	Networks map[string][]netip.Prefix
}

// ReadInterfaces returns the interfaces of this network namespace.
func ReadInterfaces() (Interfaces, error) {
	out := Interfaces{Networks: map[string][]netip.Prefix{}}
	// Pods may be added and removed in the meantime.
	links, err := netlinkdump.All(netlink.LinkList)
	if err != nil {
		return out, fmt.Errorf("list interfaces: %w", err)
	}
	addresses, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return out, fmt.Errorf("list addresses: %w", err)
	}
	routes, err := netlinkdump.All(func() ([]netlink.Route, error) { return netlink.RouteList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return out, fmt.Errorf("list routes: %w", err)
	}
	needed, networks := map[int]bool{}, map[int][]netip.Prefix{}
	for _, a := range addresses {
		if !a.IP.IsGlobalUnicast() {
			continue
		}
		needed[a.LinkIndex] = true
		if p, ok := netaddr.FromIPNet(a.IPNet); ok {
			networks[a.LinkIndex] = append(networks[a.LinkIndex], p.Masked())
		}
	}
	routed := map[int]bool{}
	for _, r := range routes {
		if ones := prefixLength(r); ones == 0 {
			routed[r.LinkIndex] = true
			for _, hop := range r.MultiPath {
				routed[hop.LinkIndex] = true
			}
		}
	}
	for _, l := range links {
		name, index := l.Attrs().Name, l.Attrs().Index
		out.All = append(out.All, name)
		if routed[index] {
			out.Default = append(out.Default, name)
		}
		if needed[index] || routed[index] {
			out.Uplinks = append(out.Uplinks, name)
		}
		if all := networks[index]; len(all) > 0 {
			out.Networks[name] = all
		}
	}
	slices.Sort(out.All)
	slices.Sort(out.Default)
	slices.Sort(out.Uplinks)
	return out, nil
}

// reserved returns the networks of the node. Those of masters without a default route are not among them: an administrator named these interfaces, so that
// tenants attach pods to their networks.
func (i Interfaces) reserved(masters []string) []netip.Prefix {
	var all []netip.Prefix
	for _, name := range slices.Sorted(maps.Keys(i.Networks)) {
		if !slices.Contains(masters, name) || slices.Contains(i.Default, name) {
			all = append(all, i.Networks[name]...)
		}
	}
	return all
}

func prefixLength(r netlink.Route) int {
	if r.Dst == nil {
		return 0
	}
	ones, _ := r.Dst.Mask.Size()
	return ones
}
