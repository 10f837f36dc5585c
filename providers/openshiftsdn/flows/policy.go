package flows

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/openflow"
)

// ingress decides whether a pod of the node receives a packet.
func (b *builder) ingress() {
	node, ip := openflow.InPort(NodePort), openflow.Is(openflow.IP)
	deliver := openflow.OutputRegister(regPort)
	b.add(ingressNode, matches{node, ip, openflow.Source(only(RouterAddress(b.Subnet)))}, deliver)
	b.add(ingressService, matches{node, ip, openflow.Source(b.ServiceNetwork)}, deliver)
	switch b.Mode {
	case Multitenant:
		b.add(ingressGlobal, matches{isSource(Global)}, deliver)
		b.add(ingressGlobal, matches{openflow.Register(regDestination, Global, 0xffffffff)}, deliver)
		for _, p := range b.Pods {
			b.add(ingressSameVNID, matches{isSource(p.VNID), openflow.Register(regDestination, p.VNID, 0xffffffff)}, deliver)
		}
		b.add(ingressDenied, nil)
	case NetworkPolicy:
		b.add(ingressReply, matches{ip, openflow.ConnectionState("+trk+rpl")}, deliver)
		d := direction{
			b: b, word: "ingress", allowed: ingressAllowed, conjunction: ingressConjunction, isolated: ingressIsolated, pass: deliver,
			pod: openflow.Destination, peer: openflow.Source, of: func(p netpolicy.Policy) *netpolicy.Direction { return p.Ingress }, byVNID: true,
		}
		d.policies()
		b.add(ingressOpen, nil, deliver)
	default:
		b.add(ingressOpen, nil, deliver)
	}
}

// egress decides whether a pod of the node may send a packet.
func (b *builder) egress() {
	pass := openflow.Goto(tableCommit)
	if b.Mode == NetworkPolicy {
		ip := openflow.Is(openflow.IP)
		b.add(egressReply, matches{ip, openflow.ConnectionState("+trk+rpl")}, pass)
		b.add(egressService, matches{ip, openflow.Destination(b.ServiceNetwork)}, pass)
		d := direction{
			b: b, word: "egress", allowed: egressAllowed, conjunction: egressConjunction, isolated: egressIsolated, pass: pass,
			pod: openflow.Source, peer: openflow.Destination, of: func(p netpolicy.Policy) *netpolicy.Direction { return p.Egress },
		}
		d.policies()
	}
	b.add(egressDefault, nil, pass)
}

// direction adds the flows of the policies for one direction.
type direction struct {
	b                              *builder
	word                           string
	allowed, conjunction, isolated *Rule
	// pass is the action for an allowed packet.
	pass openflow.Action
	// pod and peer match a packet by the address of the pod or the peer.
	pod, peer func(netip.Prefix) openflow.Match
	of        func(netpolicy.Policy) *netpolicy.Direction
	// byVNID is true where the VNID of the peer is known.
	byVNID bool

	// dimensions are the actions of conjunction flows by match: a packet matches one flow only, which needs the actions of all conjunctions.
	dimensions map[string]*dimension
	ids        map[uint32]bool
}

type dimension struct {
	match   matches
	actions acts
}

func (d *direction) policies() {
	d.dimensions, d.ids = map[string]*dimension{}, map[uint32]bool{}
	local := map[netpolicy.ID]netip.Addr{}
	for _, p := range d.b.Pods {
		local[p.ID] = p.Address
	}
	isolated := map[netpolicy.ID][]string{}
	for _, policy := range slices.SortedFunc(slices.Values(d.b.Policies), func(x, y netpolicy.Policy) int { return x.Compare(y.ID) }) {
		rules := d.of(policy)
		pods := slices.DeleteFunc(slices.Clone(policy.Pods), func(id netpolicy.ID) bool { return !local[id].IsValid() })
		if rules == nil || len(pods) == 0 {
			continue
		}
		for _, id := range pods {
			isolated[id] = append(isolated[id], policy.String())
		}
		for _, rule := range rules.Rules {
			d.rule(policy, rule, pods, local)
		}
	}
	for id, names := range isolated {
		note := fmt.Sprintf("pod %s: no %s rule of NetworkPolicy %s allows it", id, d.word, strings.Join(names, ", "))
		d.b.note(d.isolated, note, matches{openflow.Is(openflow.IP), d.pod(only(local[id]))})
	}
	for _, one := range d.dimensions {
		slices.Sort(one.actions)
		d.b.add(d.conjunction, one.match, one.actions...)
	}
}

// rule adds one rule for the selected pods of the node. Named ports that resolve differently are separate rules.
func (d *direction) rule(policy netpolicy.Policy, rule netpolicy.Rule, pods []netpolicy.ID, local map[netpolicy.ID]netip.Addr) {
	name := fmt.Sprintf("NetworkPolicy %s, %s rule %d", policy.ID, d.word, rule.Index)
	var selected []matches
	for _, id := range pods {
		selected = append(selected, matches{openflow.Is(openflow.IP), d.pod(only(local[id]))})
	}
	if rule.Ports == nil {
		d.conjunct(name, "", selected, d.peers(rule.Peers), nil)
		return
	}
	var everywhere []netpolicy.Port
	for _, port := range rule.Ports {
		if port.Destinations == nil {
			everywhere = append(everywhere, port)
		} else {
			d.named(name, rule, port, pods, local)
		}
	}
	if len(everywhere) > 0 {
		d.conjunct(name, "", selected, d.peers(rule.Peers), portMatches(everywhere))
	}
}

// named adds a named port of some destinations: selected pods for ingress, peers for egress.
func (d *direction) named(name string, rule netpolicy.Rule, port netpolicy.Port, pods []netpolicy.ID, local map[netpolicy.ID]netip.Addr) {
	suffix := fmt.Sprintf("%s %d", port.Protocol, port.First)
	if d.byVNID {
		var selected []matches
		for _, id := range pods {
			if slices.Contains(port.Destinations, id) {
				selected = append(selected, matches{openflow.Is(openflow.IP), d.pod(only(local[id]))})
			}
		}
		d.conjunct(name, suffix, selected, d.peers(rule.Peers), portMatches([]netpolicy.Port{port}))
		return
	}
	var selected, peers []matches
	for _, id := range pods {
		selected = append(selected, matches{openflow.Is(openflow.IP), d.pod(only(local[id]))})
	}
	for _, id := range port.Destinations {
		for _, a := range d.b.Addresses[id] {
			if a.Is4() && rule.Peers.Includes(netpolicy.End{Pod: id, Address: a}) {
				peers = append(peers, matches{openflow.Is(openflow.IP), d.peer(only(a))})
			}
		}
	}
	d.conjunct(name, suffix, selected, &peers, portMatches([]netpolicy.Port{port}))
}

// peers returns the matches of peers, nil for all. Pods of a namespace that is matched by VNID are omitted.
func (d *direction) peers(p *netpolicy.Peers) *[]matches {
	if p == nil {
		return nil
	}
	out := []matches{}
	byVNID := map[string]bool{}
	for _, ns := range p.Namespaces {
		// VNID 0 also has nodes and clients outside the cluster: its pods are matched individually.
		if vnid, known := d.b.VNIDs[ns]; d.byVNID && known && vnid != Global {
			byVNID[ns] = true
			out = append(out, matches{openflow.Is(openflow.IP), isSource(vnid)})
		}
	}
	for _, id := range p.Pods {
		if host, ok := d.b.Hosts[id]; ok && d.byVNID {
			out = append(out, matches{openflow.Is(openflow.IP), d.peer(only(host))})
			continue
		}
		if byVNID[id.Namespace] {
			continue
		}
		for _, a := range d.b.Addresses[id] {
			if a.Is4() {
				out = append(out, matches{openflow.Is(openflow.IP), d.peer(only(a))})
			}
		}
	}
	for _, block := range p.Blocks {
		for _, part := range parts(block) {
			out = append(out, matches{openflow.Is(openflow.IP), d.peer(part)})
		}
	}
	return &out
}

// conjunct adds the flows of a rule: one for each pod, peer and port, which are the dimensions of a conjunction. A nil dimension matches everything; an empty
// one matches nothing.
func (d *direction) conjunct(name, suffix string, pods []matches, peers *[]matches, ports []matches) {
	dimensions := [][]matches{pods}
	if peers != nil {
		dimensions = append(dimensions, *peers)
	}
	if ports != nil {
		dimensions = append(dimensions, ports)
	}
	for _, one := range dimensions {
		if len(one) == 0 {
			return
		}
	}
	if len(dimensions) == 1 {
		for _, match := range pods {
			d.b.add(d.allowed, match, d.pass)
		}
		return
	}
	id := d.id(name + " " + suffix)
	d.b.note(d.conjunction, name, matches{openflow.Is(openflow.IP), openflow.ConjunctionID(id)}, d.pass)
	for i, one := range dimensions {
		for _, match := range one {
			d.dimension(match, openflow.Conjunction(id, i+1, len(dimensions)))
		}
	}
}

func (d *direction) dimension(match matches, action openflow.Action) {
	key := openflow.Flow{Match: match}.String()
	if d.dimensions[key] == nil {
		d.dimensions[key] = &dimension{match: match}
	}
	if one := d.dimensions[key]; !slices.Contains(one.actions, action) {
		one.actions = append(one.actions, action)
	}
}

// id returns the number of a conjunction. It is derived from the rule, so that a restarted agent changes no flows, except for the rare hash collision.
func (d *direction) id(name string) uint32 {
	id := uint32(openflow.Flow{Note: name}.Cookie())
	for id == 0 || d.ids[id] {
		id++
	}
	d.ids[id] = true
	return id
}

var protocols = map[corev1.Protocol]openflow.Protocol{corev1.ProtocolTCP: openflow.TCP, corev1.ProtocolUDP: openflow.UDP, corev1.ProtocolSCTP: openflow.SCTP}

// portMatches returns the matches of ports: masks that cover the ranges, and later fragments, which have no ports. Later fragments pass if any port of their
// protocol is allowed; without the first fragment they are never reassembled.
func portMatches(ports []netpolicy.Port) []matches {
	out := []matches{}
	for _, p := range ports {
		protocol, known := protocols[p.Protocol]
		if !known {
			continue
		}
		if p.First <= 1 && p.Last == 65535 {
			out = append(out, matches{openflow.Is(protocol)})
			continue
		}
		out = append(out, matches{openflow.Is(protocol), openflow.LaterFragments()})
		for _, mask := range openflow.Ports(p.First, p.Last) {
			out = append(out, matches{openflow.Is(protocol), openflow.DestinationPort(mask)})
		}
	}
	return out
}

// parts returns the prefixes that cover a block without its exceptions. It is nil for IPv6 blocks.
func parts(block netpolicy.Block) []netip.Prefix {
	if !block.CIDR.Addr().Is4() {
		return nil
	}
	out := []netip.Prefix{block.CIDR.Masked()}
	for _, e := range block.Except {
		var left []netip.Prefix
		for _, p := range out {
			left = append(left, without(p, e.Masked())...)
		}
		out = left
	}
	slices.SortFunc(out, comparePrefix)
	return out
}

// without returns the prefixes that cover p without except. It halves p until no part overlaps.
func without(p, except netip.Prefix) []netip.Prefix {
	switch {
	case !p.Overlaps(except):
		return []netip.Prefix{p}
	case except.Bits() <= p.Bits():
		return nil
	}
	lower := netip.PrefixFrom(p.Addr(), p.Bits()+1)
	b := p.Addr().As4()
	b[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	upper := netip.PrefixFrom(netip.AddrFrom4(b), p.Bits()+1)
	return append(without(lower, except), without(upper, except)...)
}
