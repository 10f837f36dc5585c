package flows

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// multicast copies packets of VNIDs with multicast enabled to all nodes, and to the pods of the VNID.
func (b *builder) multicast() {
	if b.Mode != Subnet {
		for _, vnid := range slices.Sorted(slices.Values(b.Multicast)) {
			b.add(multicastAllowed, matches{isSource(vnid)}, openflow.Goto(tableSpread))
			if pods := b.portsOf(vnid); len(pods) > 0 {
				b.add(distribute, matches{isSource(vnid)}, pods...)
			}
		}
	}
	b.add(multicastDenied, nil)
	var copies acts
	for _, p := range b.Peers {
		copies = append(copies, p.send()...)
	}
	b.add(spread, nil, append(copies, openflow.Goto(tableDistribute))...)
	b.add(distributeNone, nil)
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
