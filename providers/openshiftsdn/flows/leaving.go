package flows

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// leaving decides which packets may leave the cluster network.
func (b *builder) leaving() {
	ip := openflow.Is(openflow.IP)
	b.add(leavingLoop, matches{openflow.InPort(NodePort)})
	b.add(leavingTunnel, matches{openflow.InPort(TunnelPort)}, openflow.Goto(tableEgressIP))
	for _, e := range b.EgressIPs {
		for _, from := range e.sources() {
			b.note(leavingRestricted, e.Name+": "+leavingRestricted.Text, append(from, openflow.ConnectionState("+trk+rpl")), e.restricted()...)
		}
	}
	b.add(leavingReply, matches{ip, openflow.ConnectionState("+trk+rpl")}, b.direct()...)
	for _, protocol := range []openflow.Protocol{openflow.TCP, openflow.UDP} {
		b.add(leavingDNS, matches{openflow.Is(protocol), openflow.Destination(only(b.Address)), openflow.DestinationPort(openflow.PortMask{Port: 53, Mask: 0xffff})}, b.direct()...)
	}
	b.add(leavingOther, nil, openflow.Goto(tableFirewall))
	if b.Mode != Subnet {
		for _, f := range slices.SortedFunc(slices.Values(b.Firewalls), func(x, y Firewall) int { return cmp.Compare(x.VNID, y.VNID) }) {
			b.firewall(f)
		}
	}
	b.add(firewallNone, nil, openflow.Goto(tableEgressIP))
}

// direct sends a packet to the kernel of this node, regardless of the destination hardware address.
func (b *builder) direct() acts {
	return acts{openflow.SetEthDestination(b.TunnelMAC), openflow.Output(NodePort)}
}

// firewall adds the rules of one firewall. VNID 0 has no egress firewall.
func (b *builder) firewall(f Firewall) {
	f.Closed = cmp.Or(f.Closed, b.Closed[f.Name])
	switch {
	case f.VNID == Global:
		b.problems = append(b.problems, f.Name+": is ignored, since namespaces with VNID 0 have no egress firewall")
		return
	case f.Closed != "":
		b.note(firewallClosed, f.Name+": "+f.Closed, matches{isSource(f.VNID)})
		return
	}
	seen := map[netip.Prefix]bool{} // the first rule of a destination decides
	for i, rule := range f.Rules {
		decision, actions := "Allow", acts{openflow.Goto(tableEgressIP)}
		if rule.Deny {
			decision, actions = "Deny", nil
		}
		for _, to := range slices.SortedFunc(slices.Values(rule.Destinations), comparePrefix) {
			if to = to.Masked(); seen[to] {
				continue
			}
			seen[to] = true
			at := &Rule{firewallRule.Table, firewallRule.Priority - uint16(min(i, firewallTop-1)), ""}
			b.owned(f.Name, at, fmt.Sprintf("%s, rule %d: %s %s", f.Name, i, decision, to), matches{openflow.Is(openflow.IP), isSource(f.VNID), openflow.Destination(to)}, actions...)
		}
	}
}

// egressIPs sends traffic to the node of its egress IP.
func (b *builder) egressIPs() {
	for _, e := range b.EgressIPs {
		b.egressIP(e)
	}
	b.add(egressLoop, matches{openflow.InPort(TunnelPort)})
	b.add(egressNone, nil, b.direct()...)
	b.add(egressNoSlot, nil)
}

// sources returns the matches of the packets of an EgressIP.
func (e EgressIP) sources() []matches {
	if e.Only == nil {
		return []matches{{openflow.Is(openflow.IP), isSource(e.VNID)}}
	}
	var out []matches
	for _, a := range slices.SortedFunc(slices.Values(e.Only), netip.Addr.Compare) {
		out = append(out, matches{openflow.Is(openflow.IP), isSource(e.VNID), openflow.Source(only(a))})
	}
	return out
}

// restricted sends packets to the kernel with the VNID, so that the kernel can drop them.
func (e EgressIP) restricted() acts {
	return acts{openflow.SetEthDestination(DropMAC(e.VNID)), openflow.Output(NodePort)}
}

// egressSlots is the number of hash slots for the connections of a VNID with several egress IPs.
const egressSlots = 64

func (b *builder) egressIP(e EgressIP) {
	match := matches{isSource(e.VNID)}
	nodes := slices.Compact(slices.SortedFunc(slices.Values(e.Nodes), netip.Addr.Compare))
	switch {
	case e.Only != nil:
		for _, from := range e.sources() {
			b.note(egressShared, e.Name+": "+e.Dropped, from)
		}
	case e.Dropped != "":
		b.note(egressElsewhere, e.Name+": "+e.Dropped, match)
	case e.Local:
		b.note(egressHere, e.Name+": egress IP of this node", match, openflow.SetEthDestination(EgressMAC(e.VNID)), openflow.Output(NodePort))
	case len(nodes) == 0:
		b.note(egressElsewhere, e.Name+": none of its egress IPs is on a node that works", match)
	case len(nodes) == 1:
		b.note(egressElsewhere, e.Name+": egress IP of node "+nodes[0].String(), match, Peer{Address: nodes[0]}.send()...)
	default:
		b.note(egressElsewhere, e.Name+": egress IPs of several nodes", match, openflow.Multipath(egressSlots, regSlot), openflow.Goto(tableEgressNode))
		for slot := range uint32(egressSlots) {
			n := slotNode(e.VNID, slot, nodes)
			b.note(egressSlot, e.Name+": egress IP of node "+n.String(), matches{isSource(e.VNID), openflow.Register(regSlot, slot, 0xffff)}, Peer{Address: n}.send()...)
		}
	}
}

// slotNode returns the node of a hash slot. If a node is removed, only the slots of that node change.
func slotNode(vnid, slot uint32, nodes []netip.Addr) netip.Addr {
	return slices.MaxFunc(nodes, func(x, y netip.Addr) int { return cmp.Compare(slotWeight(vnid, slot, x), slotWeight(vnid, slot, y)) })
}

func slotWeight(vnid, slot uint32, node netip.Addr) uint64 {
	data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(node.AsSlice(), vnid), slot)
	sum := sha256.Sum256(data)
	return binary.BigEndian.Uint64(sum[:])
}
