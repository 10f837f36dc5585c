package node

import (
	"fmt"
	"net/netip"
	"slices"

	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

const (
	// egressTable is the name of the agent's tables for egress IPs: of IPv4, and of the interface tun0.
	egressTable = "openshift-sdn-egress"
	// marksMap maps the hardware addresses that Open vSwitch sets to packet marks. heldSet has the egress IPs of the node, nodesSet the addresses of all
	// nodes.
	marksMap = "marks"
	heldSet  = "addresses"
	nodesSet = "nodes"
	// Priorities: before all others of an interface; after connection tracking and before Services; before kube-proxy and the agent's other rules; after all
	// source NAT.
	egressIngress  knftables.BaseChainPriority = "-500"
	egressArriving knftables.BaseChainPriority = "-110"
	egressSource   knftables.BaseChainPriority = "94"
	egressCheck    knftables.BaseChainPriority = "120"
)

// egressRules are the kernel's rules for egress IPs: packets of namespaces with egress IPs leave with one of them or are dropped.
type egressRules struct {
	config agentconfig.Config
	block  netip.Prefix
	// held are the egress IPs that the node has. nodes are the addresses of all nodes.
	held  []egressip.Claim
	nodes []netip.Addr
}

// marks returns the table that sets the marks of packets from Open vSwitch. Their hardware address carries the VNID and belongs to no interface, so that the
// kernel drops packets without a matching rule.
func (r egressRules) marks() nftTable {
	bit, tun0 := r.config.MasqueradeBit, flows.PodMAC(flows.RouterAddress(r.block))
	m := collection{name: marksMap, kind: "ether_addr : mark", isMap: true}
	for _, c := range r.held {
		mark := hex(egressip.Mark(c.Address, bit))
		m.elements = append(m.elements, element{[]string{flows.EgressMAC(c.VNID).String()}, []string{mark}}, element{[]string{flows.DropMAC(c.VNID).String()}, []string{mark}})
	}
	host := knftables.Concat("ether daddr set", tun0, "meta pkttype set host")
	return nftTable{
		family: knftables.NetDevFamily, name: egressTable, collections: []collection{m}, recreate: true,
		chains: []chain{{agentconfig.Tunnel, knftables.FilterType, knftables.IngressHook, egressIngress, agentconfig.Tunnel, []string{
			knftables.Concat("meta mark set ether daddr map @"+marksMap, host),
			knftables.Concat("ether daddr & ff:ff:ff:00:00:00 ==", flows.DropMAC(0), "meta mark set", hex(egressip.DropMark(bit)), host),
		}}},
	}
}

// packets returns the table that uses marks.
func (r egressRules) packets() nftTable {
	bit, tun0 := r.config.MasqueradeBit, agentconfig.Tunnel
	mask := hex(egressip.MarkMask(bit))
	marked := func(mark uint32) string { return knftables.Concat("meta mark &", mask, "==", hex(mark)) }
	leaves := knftables.Concat("iifname", tun0, "oifname !=", tun0, "ct direction original")
	restricted := knftables.Concat(leaves, marked(egressip.DropMark(bit)))
	unmarked := knftables.Concat("meta mark set meta mark &", hex(^egressip.MarkMask(bit)), "return")
	held, nodes := collection{name: heldSet, kind: "ipv4_addr"}, collection{name: nodesSet, kind: "ipv4_addr"}
	var zones, source, check []string
	for _, c := range r.held {
		held.elements = append(held.elements, element{key: []string{c.Address.String()}})
		match := marked(egressip.Mark(c.Address, bit))
		// A connection that had another source address becomes a different connection.
		zones = append(zones, knftables.Concat("iifname", tun0, match, "ct original zone set", egressip.Zone(c.Address)))
		source = append(source, knftables.Concat("oifname !=", tun0, match, "snat ip to", c.Address))
		check = append(check, knftables.Concat("oifname !=", tun0, match, "ct direction original ip saddr !=", c.Address, "counter drop"))
	}
	for _, a := range r.nodes {
		nodes.elements = append(nodes.elements, element{key: []string{a.String()}})
	}
	return nftTable{
		family: knftables.IPv4Family, name: egressTable, collections: []collection{held, nodes}, recreate: true,
		chains: []chain{
			{"zones", knftables.FilterType, knftables.PreroutingHook, knftables.RawPriority, "", zones},
			{"arriving", knftables.FilterType, knftables.PreroutingHook, egressArriving, "", []string{
				// The node serves nothing at an egress IP, not even NodePorts.
				knftables.Concat("ip daddr @"+heldSet, "ct state new reject"),
			}},
			{"forward", knftables.FilterType, knftables.ForwardHook, knftables.FilterPriority, "", []string{
				// Connections to a Service whose endpoint is the Kubernetes API or a node stay between nodes, and may have the node's address.
				knftables.Concat(restricted, "ct status dnat ct original ip daddr", apiAddress(r.config.ServiceNetwork), unmarked),
				knftables.Concat(restricted, "ct status dnat ip daddr @"+nodesSet, unmarked),
				knftables.Concat(restricted, "counter drop"),
				// Pods of other nodes leave through this one only with an egress IP.
				knftables.Concat(leaves, "ip saddr !=", r.block, "meta mark &", mask, "== 0 counter drop"),
			}},
			{"source", knftables.NATType, knftables.PostroutingHook, egressSource, "", source},
			{"leaving", knftables.FilterType, knftables.PostroutingHook, egressCheck, "", check},
		},
	}
}

func hex(n uint32) string { return fmt.Sprintf("0x%08x", n) }

// apiAddress returns the address of the Service of the Kubernetes API: the first one of the Service CIDR.
func apiAddress(services netip.Prefix) netip.Addr { return services.Masked().Addr().Next() }

// nodeAddresses returns the addresses of all nodes without duplicates.
func nodeAddresses(s snapshot) []netip.Addr {
	var out []netip.Addr
	for _, h := range s.HostSubnets {
		if a, err := netip.ParseAddr(h.HostIP); err == nil && a.Is4() {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
