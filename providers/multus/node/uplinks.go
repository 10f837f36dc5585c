package node

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
)

// Interfaces are the interfaces of a node by name, sorted.
type Interfaces struct {
	All []string
	// Uplinks are the interfaces that the node itself needs: they have a global address or a default route.
	Uplinks []string
}

// ReadInterfaces returns the interfaces of this network namespace.
func ReadInterfaces() (Interfaces, error) {
	var out Interfaces
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
	needed := map[int]bool{}
	for _, a := range addresses {
		needed[a.LinkIndex] = needed[a.LinkIndex] || a.IP.IsGlobalUnicast()
	}
	for _, r := range routes {
		if ones := prefixLength(r); ones == 0 {
			needed[r.LinkIndex] = true
			for _, hop := range r.MultiPath {
				needed[hop.LinkIndex] = true
			}
		}
	}
	for _, l := range links {
		out.All = append(out.All, l.Attrs().Name)
		if needed[l.Attrs().Index] {
			out.Uplinks = append(out.Uplinks, l.Attrs().Name)
		}
	}
	slices.Sort(out.All)
	slices.Sort(out.Uplinks)
	return out, nil
}

func prefixLength(r netlink.Route) int {
	if r.Dst == nil {
		return 0
	}
	ones, _ := r.Dst.Mask.Size()
	return ones
}
