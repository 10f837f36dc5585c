package egressip

import (
	"fmt"
	"net/netip"
	"slices"
)

// Place is an egress IP with its node.
type Place struct {
	Address netip.Addr
	Node    string
}

// Use is how a namespace uses its egress IPs.
type Use struct {
	// Places are those that it uses while their nodes are online, in the order of the request.
	Places []Place
	// Dropped, if not empty, is the reason why its egress traffic is dropped, even while nodes are online.
	Dropped string
}

// Resolve returns how each namespace uses its egress IPs, by name. An address is used if exactly one namespace requests it and exactly one node has it. In a
// conflict, the affected namespaces use no egress IP until it is resolved. A namespace with two addresses on a node uses the first one. Each exception is a
// problem.
func Resolve(c Cluster) (map[string]Use, []Problem) {
	var found problems
	requesters, holders := c.requesters(), c.holders()
	for _, n := range c.Nodes {
		for _, a := range n.Addresses {
			if len(holders[a]) > 1 {
				found.add(n.Object, ReasonConflict, "egress IP %s is on node %s, too: no namespace uses it; remove it from one of them", a, namesExcept(holders[a], n.Name))
			}
		}
	}
	out := make(map[string]Use, len(c.Namespaces))
	for _, n := range c.Namespaces {
		u := Use{}
		if n.Dropped {
			u.Dropped = "none of its egress IPs can be used"
		}
		if n.SharedWith != "" {
			found.add(n.Object, ReasonConflict, "the namespace shares VNID %d with %s: what its pods send outside of the cluster is dropped, as egress IPs need a VNID of their own; isolate it with cno pod-network isolate-projects, or remove egressIPs", n.VNID, n.SharedWith)
			u.Dropped = "it shares its VNID with " + n.SharedWith
		}
		for _, a := range n.Addresses {
			switch nodes := holders[a]; {
			case len(requesters[a]) > 1:
				found.add(n.Object, ReasonConflict, "namespace %s asks for egress IP %s, too: what both send outside of the cluster is dropped; remove it from one of them", namesExcept(requesters[a], n.Name), a)
				u.Dropped = fmt.Sprintf("namespace %s asks for egress IP %s, too", namesExcept(requesters[a], n.Name), a)
			case len(nodes) > 1:
				found.add(n.Object, ReasonConflict, "egress IP %s is on more than one node (%s): what the namespace sends outside of the cluster is dropped; remove it from all but one", a, namesExcept(nodes, ""))
				u.Dropped = fmt.Sprintf("egress IP %s is on more than one node (%s)", a, namesExcept(nodes, ""))
			case len(nodes) == 0:
				if !slices.ContainsFunc(c.Nodes, func(one Node) bool { return one.offers(a) }) {
					found.add(n.Object, ReasonUnassigned, "no node has egress IP %s: add it to egressIPs of a HostSubnet, or its network to egressCIDRs of some", a)
				}
			case slices.ContainsFunc(u.Places, func(p Place) bool { return p.Node == nodes[0] }):
				found.add(n.Object, ReasonConflict, "egress IP %s is on node %s, which has another one of this namespace: it is not used; move it to another node", a, nodes[0])
			default:
				u.Places = append(u.Places, Place{a, nodes[0]})
			}
		}
		if u.Dropped != "" {
			u.Places = nil
		}
		out[n.Name] = u
	}
	return out, found
}
