package flows

import "github.com/cluster-network-operator/cno/internal/openflow"

// route selects the next table by the destination.
func (b *builder) route() {
	ip, arp := openflow.Is(openflow.IP), openflow.Is(openflow.ARP)
	b.add(serviceReply, matches{ip, openflow.Destination(b.Subnet), openflow.ConnectionState("+trk+rpl"), openflow.ConnectionMark(serviceMark, 0xffffffff)},
		b.direct()...)
	for _, own := range b.own() {
		b.add(toNode, matches{ip, openflow.Destination(own)}, b.direct()...)
		b.add(arpNode, matches{arp, openflow.ARPTarget(own)}, openflow.Output(NodePort))
	}
	b.add(arpLocal, matches{arp, openflow.ARPTarget(b.Subnet)}, openflow.Goto(tableARPLocal))
	b.add(toLocal, matches{ip, openflow.Destination(b.Subnet)}, openflow.Goto(tableLocal))
	b.add(toService, matches{ip, openflow.Destination(b.ServiceNetwork)}, openflow.Goto(tableService))
	for _, c := range b.ClusterNetworks {
		b.add(arpRemote, matches{arp, openflow.ARPTarget(c)}, openflow.Goto(tableARPRemote))
		b.add(toRemote, matches{ip, openflow.Destination(c)}, openflow.Goto(tableRemote))
	}
	b.add(multicastIn, matches{openflow.InPort(TunnelPort), ip, openflow.Destination(multicastNetwork)}, openflow.Goto(tableDistribute))
	b.add(multicastOut, matches{ip, openflow.Destination(multicastNetwork)}, openflow.Goto(tableMulticast))
	b.add(toOutside, matches{ip}, openflow.Goto(tableLeaving))
	b.add(noRoute, nil)
}

func (b *builder) arp() {
	arp := openflow.Is(openflow.ARP)
	for _, p := range b.Pods {
		b.note(arpPod, "pod "+p.String(), matches{arp, openflow.ARPTarget(only(p.Address))}, openflow.Output(p.Port))
	}
	for _, p := range b.Peers {
		b.note(arpPeer, "to node "+p.Name, matches{arp, openflow.ARPTarget(p.Subnet)}, p.send()...)
	}
	b.add(noARPPod, nil)
	b.add(noARPPeer, nil)
}

func (b *builder) services() {
	b.add(serviceLoop, matches{openflow.InPort(TunnelPort)})
	b.add(serviceLoop, matches{openflow.InPort(NodePort)})
	for _, e := range b.EgressIPs {
		for _, from := range e.sources() {
			b.note(serviceRestricted, e.Name+": "+serviceRestricted.Text, from, e.restricted()...)
		}
	}
	b.add(service, nil, b.direct()...)
}

func (b *builder) local() {
	for _, p := range b.Pods {
		b.owned(p.owner(p.Limits.Ingress), localPod, "pod "+p.String(), matches{openflow.Is(openflow.IP), openflow.Destination(only(p.Address))},
			append(b.limit(p, p.Limits.Ingress, toPod), openflow.SetRegister(regDestination, p.VNID), openflow.SetRegister(regPort, p.Port), openflow.Goto(tableIngress))...)
	}
	b.add(noLocalPod, nil)
}

func (b *builder) remote() {
	b.add(remoteLoop, matches{openflow.InPort(TunnelPort)})
	for _, p := range b.Peers {
		b.note(remotePeer, "to node "+p.Name, matches{openflow.Is(openflow.IP), openflow.Destination(p.Subnet)}, p.send()...)
	}
	b.add(noRemote, nil)
}

// send sends a packet to the peer, with the VNID of its source.
func (p Peer) send() acts {
	vnid := openflow.Move("NXM_NX_REG0[]", "NXM_NX_TUN_ID[0..31]")
	if p.FixedVNID != nil {
		vnid = openflow.SetTunnelID(uint64(*p.FixedVNID))
	}
	return acts{vnid, openflow.SetTunnelDestination(p.Address), openflow.Output(TunnelPort)}
}
