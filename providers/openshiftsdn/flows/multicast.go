package flows

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// groupSize is the number of nodes in a group. Each node takes 88 bytes of a flow's actions, and a flow has room for 744.
const groupSize = 400

// multicast copies packets of VNIDs with multicast enabled to all nodes, and to the pods of the VNID.
func (b *builder) multicast() {
	b.add(multicastDenied, nil)
	b.add(distributeNone, nil)
	if b.Mode == Subnet || len(b.Multicast) == 0 {
		return
	}
	for _, vnid := range slices.Sorted(slices.Values(b.Multicast)) {
		b.add(multicastAllowed, matches{isSource(vnid)}, openflow.Goto(tableSpread))
		if pods := b.portsOf(vnid); len(pods) > 0 {
			b.add(distribute, matches{isSource(vnid)}, pods...)
		}
	}
	var groups acts
	number := uint32(0)
	for group := range slices.Chunk(b.Peers, groupSize) {
		var copies acts
		for _, p := range group {
			copies = append(copies, p.send()...)
		}
		number++
		b.add(spreadGroup, matches{openflow.Register(regGroup, number, 0xffffffff)}, copies...)
		groups = append(groups, openflow.SetRegister(regGroup, number), openflow.Resubmit(tableCopies))
	}
	b.add(spread, nil, append(groups, openflow.Goto(tableDistribute))...)
}

// portsOf outputs to all pods of a VNID. Open vSwitch never outputs a packet to its input port.
func (b *builder) portsOf(vnid uint32) acts {
	var out acts
	for _, p := range b.Pods {
		if p.VNID == vnid {
			out = append(out, openflow.Output(p.Port))
		}
	}
	return out
}
