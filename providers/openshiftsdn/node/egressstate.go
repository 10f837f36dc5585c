package node

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/tunnelprobe"
)

// claims are the egress IPs that this node is to have. It fails while the node has no block.
func claims(s snapshot) ([]egressip.Claim, error) {
	own, err := ownSubnet(s)
	if err != nil || s.Config.Mode == agentconfig.Subnet {
		return nil, err
	}
	d := desired{Input: flows.Input{Subnet: own.subnet}}
	d.vnids(s)
	d.egressIPs(s)
	return d.Claims, nil
}

// egressIPs are the VNIDs of namespaces that ask for egress IPs: those that this node has to have, and the nodes by which packets of its own pods leave. Such a
// namespace never sends with the address of a node: without a node that works, what it sends outside is dropped. Errors in objects are reported by the
// controller, once for all nodes.
func (d *desired) egressIPs(s snapshot) {
	inside := append(s.Config.Pools(), s.Config.ServiceNetwork)
	cluster, _ := egressip.Read(s.HostSubnets, s.NetNamespaces, inside, s.Config.Mode == agentconfig.Multitenant, func(string) egressip.State { return egressip.Unknown })
	uses, _ := egressip.Resolve(cluster)
	pods := map[uint32]map[string][]netip.Addr{}
	for _, p := range d.Input.Pods {
		if pods[p.VNID] == nil {
			pods[p.VNID] = map[string][]netip.Addr{}
		}
		pods[p.VNID][p.Namespace] = append(pods[p.VNID][p.Namespace], p.Address)
	}
	places := placesOf(s)
	d.Probes = map[string]netip.Addr{}
	for _, n := range cluster.Namespaces {
		id, used := d.Input.VNIDs[n.Name]
		if !used {
			continue // its pods have no network at all
		}
		use := uses[n.Name]
		e := flows.EgressIP{VNID: id, Name: "namespace " + n.Name, Dropped: use.Dropped}
		if n.SharedWith != "" {
			e.Only = append([]netip.Addr{}, pods[id][n.Name]...)
		}
		here := len(pods[id]) > 0
		var unknown []netip.Addr
		for _, p := range use.Places {
			if p.Node == s.Node {
				d.Claims = append(d.Claims, egressip.Claim{Address: p.Address, VNID: id, Namespace: n.Name})
				serves, is := s.Serving[p.Address]
				e.Local = is && serves == id
				continue
			}
			place, known := places[p.Node]
			if !known || !here {
				continue
			}
			d.Probes[p.Node] = flows.RouterAddress(place.subnet)
			switch probed(s, p.Node) {
			case tunnelprobe.Answers:
				e.Nodes = append(e.Nodes, place.address)
			case tunnelprobe.Unknown:
				unknown = append(unknown, place.address)
			case tunnelprobe.Lost:
			}
		}
		if len(e.Nodes) == 0 {
			e.Nodes = unknown // nothing is better known
		}
		if here || e.Local {
			d.Input.EgressIPs = append(d.Input.EgressIPs, e)
		}
	}
}

func probed(s snapshot, node string) tunnelprobe.State {
	if s.Probed == nil {
		return tunnelprobe.Unknown
	}
	return s.Probed(node)
}

// placesOf are the addresses and blocks of the nodes that have both.
func placesOf(s snapshot) map[string]nodePlace {
	out := map[string]nodePlace{}
	for _, h := range s.HostSubnets {
		if place, err := placeOf(h); err == nil {
			out[h.Name] = place
		}
	}
	return out
}
