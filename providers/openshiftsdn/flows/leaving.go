package flows

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// leaving decides what may leave the cluster network.
func (b *builder) leaving() {
	ip := openflow.Is(openflow.IP)
	b.add(leavingLoop, matches{openflow.InPort(NodePort)})
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

// direct sends a packet to the kernel of this node, also one that came by the tunnel and has another hardware address.
func (b *builder) direct() acts {
	return acts{openflow.SetEthDestination(b.TunnelMAC), openflow.Output(NodePort)}
}

// firewall adds the rules of one firewall. VNID 0 has none.
func (b *builder) firewall(f Firewall) {
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
		verdict, actions := "Allow", acts{openflow.Goto(tableEgressIP)}
		if rule.Deny {
			verdict, actions = "Deny", nil
		}
		for _, to := range slices.SortedFunc(slices.Values(rule.Destinations), comparePrefix) {
			if to = to.Masked(); seen[to] {
				continue
			}
			seen[to] = true
			at := &Rule{firewallRule.Table, firewallRule.Priority - uint16(min(i, firewallTop-1)), ""}
			b.note(at, fmt.Sprintf("%s, rule %d: %s %s", f.Name, i, verdict, to), matches{openflow.Is(openflow.IP), isSource(f.VNID), openflow.Destination(to)}, actions...)
		}
	}
}

// egressIPs sends traffic to the node whose address it leaves with.
func (b *builder) egressIPs() {
	if b.Mode != Subnet {
		for _, e := range slices.SortedFunc(slices.Values(b.EgressIPs), func(x, y EgressIP) int { return cmp.Compare(x.VNID, y.VNID) }) {
			b.egressIP(e)
		}
	}
	b.add(egressLoop, matches{openflow.InPort(TunnelPort)})
	b.add(egressNone, nil, b.direct()...)
}

func (b *builder) egressIP(e EgressIP) {
	match := matches{isSource(e.VNID)}
	nodes := slices.SortedFunc(slices.Values(e.Nodes), netip.Addr.Compare)
	switch {
	case e.Local:
		b.note(egressHere, e.Name+": egress IP of this node", match, openflow.SetEthDestination(EgressMAC(e.VNID)), openflow.Output(NodePort))
	case len(nodes) == 0:
		b.note(egressElsewhere, e.Name+": none of its egress IPs is on a node that works", match)
	case len(nodes) == 1:
		b.note(egressElsewhere, e.Name+": egress IP of node "+nodes[0].String(), match, Peer{Address: nodes[0]}.send()...)
	default:
		group := openflow.SelectGroup{ID: e.VNID}
		for _, n := range nodes {
			group.Buckets = append(group.Buckets, Peer{Address: n}.send())
		}
		b.groups = append(b.groups, group)
		b.note(egressElsewhere, e.Name+": egress IPs of several nodes", match, openflow.Group(group.ID))
	}
}
