package node

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// route is a route to a subnet.
type route struct {
	To  netip.Prefix
	Via netip.Addr
	// Link is the name of the interface.
	Link string
	// OnLink is true if Via needs no route of its own.
	OnLink bool
}

// neighbor is a permanent entry of a vxlan device. It maps an address inside the network to a MAC address (Forward false), or a MAC address to a node (Forward
// true).
type neighbor struct {
	Link    string
	IP      netip.Addr
	MAC     string
	Forward bool
}

// links are the names of the interfaces for traffic to other nodes.
type links struct{ IPv4, IPv6 string }

// desired is the desired state of the kernel.
type desired struct {
	// Routes are sorted by destination, Neighbors by interface, kind and address.
	Routes    []route
	Neighbors []neighbor
	// Owners are the leases of routes, by destination.
	Owners map[netip.Prefix]store.Lease
	// Foreign are the leases of another backend, which are unreachable.
	Foreign []store.Lease
	// Accepted are the leases that are used for routing, by key. Rejected are the others.
	Accepted map[string]store.Lease
	Rejected []rejection
}

// vxlanAttrs is flannel's value of LeaseAttrs.BackendData for vxlan.
type vxlanAttrs struct {
	VNI     uint32
	VtepMAC string
}

// desire computes the state in which every accepted lease is reachable.
func desire(a admission, on links, leases []store.Lease) desired {
	accepted, rejected := a.accept(leases)
	out := desired{Owners: map[netip.Prefix]store.Lease{}, Accepted: make(map[string]store.Lease, len(accepted)), Rejected: rejected}
	for _, c := range accepted {
		out.Accepted[c.Key] = c.Lease
		if c.Attrs.BackendType != a.Backend {
			out.Foreign = append(out.Foreign, c.Lease)
			continue
		}
		for _, w := range c.targets {
			link := on.IPv4
			if w.To.Addr().Is6() {
				link = on.IPv6
			}
			out.Owners[w.To] = c.Lease
			out.add(link, w)
		}
	}
	slices.SortFunc(out.Routes, func(a, b route) int { return a.To.Addr().Compare(b.To.Addr()) })
	slices.SortFunc(out.Neighbors, compareNeighbors)
	return out
}

// add adds a target. Without a MAC address, packets are routed directly to the node that holds the subnet. With one, they are routed to the subnet's first
// address, which represents the vxlan device of that node.
func (d *desired) add(link string, w target) {
	if w.MAC == "" {
		d.Routes = append(d.Routes, route{To: w.To, Via: w.Node, Link: link})
		return
	}
	d.Routes = append(d.Routes, route{To: w.To, Via: w.To.Addr(), Link: link, OnLink: true})
	d.Neighbors = append(d.Neighbors,
		neighbor{Link: link, IP: w.To.Addr(), MAC: w.MAC},
		neighbor{Link: link, IP: w.Node, MAC: w.MAC, Forward: true})
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

// kernelRoute is a route in the kernel.
type kernelRoute struct {
	route
	// Boot is true if the route's protocol is boot, which flannel uses. Routes of administrators (static), of the kernel and of routing daemons have other
	// protocols.
	Boot bool
}

// compareRoutes returns the routes to set, and the ones to delete: unneeded routes into the network through the agent's interfaces. It never deletes routes
// with another protocol.
func compareRoutes(network agentconfig.Network, on links, want []route, live []kernelRoute) (set []route, remove []route) {
	wanted := make(map[netip.Prefix]route, len(want))
	for _, r := range want {
		wanted[r.To] = r
	}
	correct := make(map[netip.Prefix]bool, len(want))
	for _, h := range live {
		if w, ok := wanted[h.To]; ok {
			if same(w, h.route) {
				correct[h.To] = true
			}
			continue
		}
		if h.Boot && h.Via.IsValid() && (h.Link == on.IPv4 || h.Link == on.IPv6) && inNetwork(network, h.To) {
			remove = append(remove, h.route)
		}
	}
	for _, w := range want {
		if !correct[w.To] {
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

// compareNeighborSets returns the entries to set and the ones to delete.
func compareNeighborSets(want, live []neighbor) (set, remove []neighbor) {
	in := func(list []neighbor) map[neighbor]bool {
		m := make(map[neighbor]bool, len(list))
		for _, n := range list {
			m[n] = true
		}
		return m
	}
	liveSet, wantSet := in(live), in(want)
	for _, n := range want {
		if !liveSet[n] {
			set = append(set, n)
		}
	}
	for _, n := range live {
		if !wantSet[n] {
			remove = append(remove, n)
		}
	}
	return set, remove
}
