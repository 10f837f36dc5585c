package flows

import "github.com/cluster-network-operator/cno/internal/openflow"

// dispatch selects the next table by the input port.
func (b *builder) dispatch() {
	ip, arp := openflow.Is(openflow.IP), openflow.Is(openflow.ARP)
	b.add(track, matches{ip, openflow.ConnectionState("-trk")}, openflow.TrackAgain())
	b.add(notLocal, matches{openflow.FromLocal()})
	b.fromTunnel(ip, arp)
	b.fromNode(ip, arp)
	b.add(fromPods, matches{ip}, openflow.Goto(tablePod))
	b.add(fromPods, matches{arp}, openflow.Goto(tablePod))
	b.add(otherProtocol, nil)
}

func (b *builder) fromTunnel(ip, arp openflow.Match) {
	port := openflow.InPort(TunnelPort)
	for _, c := range b.ClusterNetworks {
		b.add(tunnelARP, matches{port, arp, openflow.ARPSource(c), openflow.ARPTarget(b.Subnet)}, openflow.Goto(tableTunnel))
		b.add(tunnelIP, matches{port, ip, openflow.Source(c)}, openflow.Goto(tableTunnel))
	}
	if b.Mode != Subnet {
		b.add(tunnelAnswer, matches{port, ip, openflow.Destination(b.Subnet)}, openflow.Goto(tableTunnel))
	}
	b.add(tunnelOther, matches{port})
}

func (b *builder) fromNode(ip, arp openflow.Match) {
	port := openflow.InPort(NodePort)
	commit := openflow.Goto(tableCommit)
	b.add(nodeMulticast, matches{port, ip, openflow.Destination(multicastNetwork)})
	for _, own := range b.own() {
		b.add(nodeARP, matches{port, arp, openflow.ARPSource(own)}, commit)
		b.add(nodeSelf, matches{port, ip, openflow.Source(own)}, commit)
	}
	for _, c := range b.ClusterNetworks {
		b.add(nodeReentry, matches{port, ip, openflow.Source(b.Subnet), openflow.Destination(c)}, openflow.Goto(tableReentry))
		b.add(nodeForged, matches{port, ip, openflow.Source(c)})
	}
	b.add(nodeOther, matches{port, ip}, commit)
	b.add(nodeOtherARP, matches{port})
}

// tunnel accepts packets of nodes only.
func (b *builder) tunnel() {
	for _, p := range b.Peers {
		b.note(peerNode, "from node "+p.Name, matches{openflow.TunnelSource(p.Address)}, openflow.Move("NXM_NX_TUN_ID[0..31]", "NXM_NX_REG0[]"), openflow.Goto(tableCommit))
	}
	b.add(noPeer, nil)
}

// pods checks the packets that pods of the node send, directly and through the kernel.
func (b *builder) pods() {
	b.add(vxlanByPod, matches{openflow.Is(openflow.UDP), openflow.DestinationPort(openflow.PortMask{Port: b.VXLANPort, Mask: 0xffff})})
	for _, p := range b.Pods {
		note, port, address := "pod "+p.String(), openflow.InPort(p.Port), only(p.Address)
		b.note(podARP, note, matches{port, openflow.Is(openflow.ARP), openflow.ARPSource(address), openflow.ARPSender(p.MAC)}, sourceVNID(p.VNID), openflow.Goto(tableCommit))
		b.owned(p.owner(p.Limits.Egress), podIP, note, matches{port, openflow.Is(openflow.IP), openflow.Source(address)},
			append(b.limit(p, p.Limits.Egress, fromPod), sourceVNID(p.VNID), openflow.Goto(tableEgress))...)
		b.note(reentry, note, matches{openflow.Is(openflow.IP), openflow.Source(address)}, sourceVNID(p.VNID), openflow.Goto(tableEgress))
	}
	b.add(forged, nil)
	b.add(noReentry, nil)
}
