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
	// OtherNames maps alternative names to the names in All.
	OtherNames map[string]string
	// Uplinks are the interfaces that the node itself needs: they have a global address or a default route, or are below one that has.
	Uplinks []string
	// Default are those with a default route.
	Default []string
	// Networks are the networks of the node's global addresses, by interface.
	Networks map[string][]netip.Prefix
}

// ReadInterfaces returns the interfaces of this network namespace.
func ReadInterfaces() (Interfaces, error) {
	out := Interfaces{OtherNames: map[string]string{}, Networks: map[string][]netip.Prefix{}}
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
	maps.Copy(needed, routed)
	addLower(needed, links)
	for _, l := range links {
		name, index := l.Attrs().Name, l.Attrs().Index
		out.All = append(out.All, name)
		if routed[index] {
			out.Default = append(out.Default, name)
		}
		if needed[index] {
			out.Uplinks = append(out.Uplinks, name)
		}
		for _, other := range l.Attrs().AltNames {
			out.OtherNames[other] = name
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

// openvswitch is the type of the kernel's datapath and of internal ports of Open vSwitch.
const openvswitch = "openvswitch"

// stacked are types of interfaces whose parent carries their packets, unless it is in another network namespace.
var stacked = []string{"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"}

// addLower adds the interfaces that carry the packets of those in needed: the ports of a bridge, bond or team, the parent of a VLAN, and all ports of the datapath
// of Open vSwitch if one of its internal ports is needed, since only its flows know which.
func addLower(needed map[int]bool, links []netlink.Link) {
	// Routes with several hops have no interface of their own, and the master of most interfaces is none.
	delete(needed, 0)
	datapath := map[int]bool{}
	for _, l := range links {
		datapath[l.Attrs().Index] = l.Type() == openvswitch
	}
	for grown := true; grown; {
		before := len(needed)
		switched := slices.ContainsFunc(links, func(l netlink.Link) bool { return l.Type() == openvswitch && needed[l.Attrs().Index] })
		for _, l := range links {
			a := l.Attrs()
			if needed[a.MasterIndex] || switched && datapath[a.MasterIndex] {
				needed[a.Index] = true
			}
			if needed[a.Index] && a.ParentIndex != 0 && a.NetNsID < 0 && slices.Contains(stacked, l.Type()) {
				needed[a.ParentIndex] = true
			}
		}
		grown = len(needed) > before
	}
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
