package node

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// linkPrefix begins the names of the nodes' ends of pods' links.
const linkPrefix = "ovnp"

// linkName names the node's end of an attachment's link.
func linkName(c cniserver.Call) string { return ovs.PodLinkName(linkPrefix, c.ContainerID, c.IfName) }

// routes are those of a pod: everything by the gateway of each IP family.
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
