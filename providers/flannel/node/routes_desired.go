package node

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// route is a way to a subnet.
type route struct {
	To  netip.Prefix
	Via netip.Addr
	// Link is the name of the interface.
	Link string
	// OnLink tells the kernel that Via needs no route of its own.
	OnLink bool
}

// neighbor is a fixed entry of a vxlan device: for an address inside the network it says which MAC address to put
// on the packet (Forward false), for a MAC address which node to send it to (Forward true).
type neighbor struct {
	Link    string
	IP      netip.Addr
	MAC     string
	Forward bool
}

// links are the names of the interfaces that traffic to other nodes leaves by.
type links struct{ IPv4, IPv6 string }

// desired is what the kernel must hold.
type desired struct {
	// Routes are sorted by destination, Neighbors by interface, kind and address.
	Routes    []route
	Neighbors []neighbor
	// Owners says which lease a route is for, by destination.
	Owners map[netip.Prefix]store.Lease
	// Foreign are the leases of another backend, to which there is no way.
	Foreign []store.Lease
	// Errors are sentences about leases that cannot be understood.
	Errors []string
}

// vxlanAttrs is flannel's value of LeaseAttrs.BackendData for vxlan.
type vxlanAttrs struct {
	VNI     uint32
	VtepMAC string
}

// desire computes what the kernel must hold so that every lease can be reached.
func desire(network agentconfig.Network, backend string, on links, leases []store.Lease) desired {
	out := desired{Owners: map[netip.Prefix]store.Lease{}}
	for _, l := range leases {
		if !network.IPv4.Overlaps(l.IPv4) || l.IPv4.Bits() < network.IPv4.Bits() {
			out.Errors = append(out.Errors, fmt.Sprintf("lease %s is outside the network %s: it is left alone", l.Key, network.IPv4))
			continue
		}
		if l.Attrs.BackendType != backend {
			out.Foreign = append(out.Foreign, l)
			continue
		}
		add := out.addHostGW
		if backend == agentconfig.BackendVXLAN {
			add = out.addVXLAN
		}
		if err := add(on.IPv4, l, l.IPv4, l.PublicIP(), l.Attrs.BackendData); err != nil {
			out.Errors = append(out.Errors, err.Error())
		}
		if network.DualStack() && l.IPv6.IsValid() {
			if err := add(on.IPv6, l, l.IPv6, l.PublicIPv6(), l.Attrs.BackendV6Data); err != nil {
				out.Errors = append(out.Errors, err.Error())
			}
		}
	}
	slices.SortFunc(out.Routes, func(a, b route) int { return a.To.Addr().Compare(b.To.Addr()) })
	slices.SortFunc(out.Neighbors, compareNeighbors)
	return out
}

func compareNeighbors(a, b neighbor) int {
	kind := func(n neighbor) int {
		if n.Forward {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Link, b.Link), cmp.Compare(kind(a), kind(b)), a.IP.Compare(b.IP), cmp.Compare(a.MAC, b.MAC))
}

// addHostGW sends packets as they are to the node that holds the subnet.
func (d *desired) addHostGW(link string, l store.Lease, to netip.Prefix, via netip.Addr, _ json.RawMessage) error {
	if !via.IsValid() || via.IsUnspecified() {
		return fmt.Errorf("lease %s has no address for %s", l.Key, to)
	}
	d.Routes = append(d.Routes, route{To: to, Via: via, Link: link})
	d.Owners[to] = l
	return nil
}

// addVXLAN sends packets to the subnet's own first address, which stands for the other node's vxlan device.
func (d *desired) addVXLAN(link string, l store.Lease, to netip.Prefix, node netip.Addr, data json.RawMessage) error {
	var attrs vxlanAttrs
	if err := json.Unmarshal(data, &attrs); err != nil {
		return fmt.Errorf("lease %s has no vxlan data for %s: %w", l.Key, to, err)
	}
	mac, err := net.ParseMAC(attrs.VtepMAC)
	if err != nil || !node.IsValid() || node.IsUnspecified() {
		return fmt.Errorf("lease %s has no MAC address or no node address for %s", l.Key, to)
	}
	d.Routes = append(d.Routes, route{To: to, Via: to.Addr(), Link: link, OnLink: true})
	d.Neighbors = append(d.Neighbors,
		neighbor{Link: link, IP: to.Addr(), MAC: mac.String()},
		neighbor{Link: link, IP: node, MAC: mac.String(), Forward: true})
	d.Owners[to] = l
	return nil
}

// kernelRoute is a route as the kernel has it.
type kernelRoute struct {
	route
	// Boot is true if the route's protocol is boot, with which flannel's routes are made. Routes of
	// administrators (static), of the kernel and of routing programs have others.
	Boot bool
}

// compareRoutes returns what to set, and what to delete: routes into the network by one of our interfaces that
// nobody needs any more. Routes with another protocol than ours are never deleted.
func compareRoutes(network agentconfig.Network, on links, want []route, have []kernelRoute) (set []route, remove []route) {
	wanted := make(map[netip.Prefix]route, len(want))
	for _, r := range want {
		wanted[r.To] = r
	}
	right := make(map[netip.Prefix]bool, len(want))
	for _, h := range have {
		if w, ok := wanted[h.To]; ok {
			if same(w, h.route) {
				right[h.To] = true
			}
			continue
		}
		if h.Boot && h.Via.IsValid() && (h.Link == on.IPv4 || h.Link == on.IPv6) && inNetwork(network, h.To) {
			remove = append(remove, h.route)
		}
	}
	for _, w := range want {
		if !right[w.To] {
			set = append(set, w)
		}
	}
	return set, remove
}

// same ignores OnLink, which the kernel does not report for every route.
func same(a, b route) bool { return a.To == b.To && a.Via == b.Via && a.Link == b.Link }

func inNetwork(n agentconfig.Network, p netip.Prefix) bool {
	within := func(network netip.Prefix) bool {
		return network.IsValid() && network.Bits() < p.Bits() && network.Contains(p.Addr())
	}
	return within(n.IPv4) || within(n.IPv6)
}

// compareNeighborSets returns what to set and what to delete.
func compareNeighborSets(want, have []neighbor) (set, remove []neighbor) {
	in := func(list []neighbor) map[neighbor]bool {
		m := make(map[neighbor]bool, len(list))
		for _, n := range list {
			m[n] = true
		}
		return m
	}
	haveSet, wantSet := in(have), in(want)
	for _, n := range want {
		if !haveSet[n] {
			set = append(set, n)
		}
	}
	for _, n := range have {
		if !wantSet[n] {
			remove = append(remove, n)
		}
	}
	return set, remove
}
