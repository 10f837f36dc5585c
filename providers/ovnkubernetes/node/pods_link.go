package node

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// linkPrefix is the name prefix of the node's ends of pod links.
const linkPrefix = "ovnp"

// linkName returns the name of the node's end of an attachment's link.
func linkName(c cniserver.Call) string { return ovs.PodLinkName(linkPrefix, c.ContainerID, c.IfName) }

// routes returns the routes of a pod: a default route through the gateway of each IP family.
func routes(given topology.Pod) []ovs.Route {
	var out []ovs.Route
	for i, a := range given.Addresses {
		everything := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if a.Addr().Is6() {
			everything = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		out = append(out, ovs.Route{To: everything, Via: given.Gateways[i]})
	}
	return out
}
