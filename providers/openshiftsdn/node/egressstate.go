package node

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/hostsubnet"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/tunnelprobe"
)

// claims returns the egress IPs assigned to this node. It returns an error while the node has no block.
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

// egressIPs adds the VNIDs of namespaces with egress IPs: those assigned to this node, and the nodes through which packets of its pods leave. Such a namespace
// never uses the address of a node: if none of its nodes is reachable, its egress traffic is dropped. The controller reports errors in objects.
func (d *desired) egressIPs(s snapshot) {
	cluster, _ := egressip.Read(s.HostSubnets, s.NetNamespaces, s.Config.Reserved(), s.Config.Mode == agentconfig.Multitenant, func(string) egressip.State { return egressip.Unknown })
	uses, _ := egressip.Resolve(cluster)
	pods := map[uint32]map[string][]netip.Addr{}
	for _, p := range d.Input.Pods {
		if pods[p.VNID] == nil {
			pods[p.VNID] = map[string][]netip.Addr{}
		}
		pods[p.VNID][p.Namespace] = append(pods[p.VNID][p.Namespace], p.Address)
	}
	_, others, _, _ := networksOf(s) // the node's own network is not needed
	places := map[string]hostsubnet.Endpoint{}
	for _, e := range others {
		places[e.Subnet.Name] = e
	}
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
		local := len(pods[id]) > 0
		var unknown []netip.Addr
		for _, p := range use.Places {
			if p.Node == s.Node {
				d.Claims = append(d.Claims, egressip.Claim{Address: p.Address, VNID: id, Namespace: n.Name})
				served, ok := s.Serving[p.Address]
				e.Local = ok && served == id
				continue
			}
			place, known := places[p.Node]
			if !known || !local {
				continue
			}
			d.Probes[p.Node] = flows.RouterAddress(place.Block)
			switch probed(s, p.Node) {
			case tunnelprobe.Reachable:
				e.Nodes = append(e.Nodes, place.Address)
			case tunnelprobe.Unknown:
				unknown = append(unknown, place.Address)
			case tunnelprobe.Unreachable:
			}
		}
		if len(e.Nodes) == 0 {
			e.Nodes = unknown // the state of the others is worse
		}
		if local || e.Local {
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
