package flows

import (
	"fmt"
	"maps"
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
		b.add(ingressGlobal, matches{isDestination(Global)}, deliver)
		for _, p := range b.Pods {
			b.add(ingressSameVNID, matches{isSource(p.VNID), isDestination(p.VNID)}, deliver)
		}
		b.add(ingressDenied, nil)
	case NetworkPolicy:
		b.add(ingressReply, matches{ip, openflow.ConnectionState("+trk+rpl")}, deliver)
		d := direction{
			b: b, word: "ingress", allowed: ingressAllowed, conjunction: ingressConjunction, isolated: ingressIsolated, pass: deliver,
			pod: openflow.Destination, peer: openflow.Source, of: func(p netpolicy.Policy) *netpolicy.Direction { return p.Ingress }, byVNID: true, vnid: isDestination,
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
			pod: openflow.Source, peer: openflow.Destination, of: func(p netpolicy.Policy) *netpolicy.Direction { return p.Egress }, vnid: isSource,
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
	// vnid matches a packet by the VNID of the pod.
	vnid func(uint32) openflow.Match
	of   func(netpolicy.Policy) *netpolicy.Direction
	// byVNID is true where the VNID of the peer is known.
	byVNID bool

	local map[netpolicy.ID]Pod
	ids   map[uint32]bool
}

// policies adds the policies namespace by namespace. Namespaces share no flow, so that none can have more policies than a flow of another one has room for.
func (d *direction) policies() {
	d.local, d.ids = map[netpolicy.ID]Pod{}, map[uint32]bool{}
	for _, p := range d.b.Pods {
		d.local[p.ID] = p
	}
	policies := slices.SortedFunc(slices.Values(d.b.Policies), func(x, y netpolicy.Policy) int { return x.Compare(y.ID) })
	for len(policies) > 0 {
		n := slices.IndexFunc(policies, func(p netpolicy.Policy) bool { return p.Namespace != policies[0].Namespace })
		if n < 0 {
			n = len(policies)
		}
		d.namespace(policies[0].Namespace, policies[:n])
		policies = policies[n:]
	}
}

// namespace adds the policies of a namespace. If they are closed, they isolate pods and allow nothing.
func (d *direction) namespace(name string, policies []netpolicy.Policy) {
	g := &group{direction: d, owner: PolicyOwner(name)}
	closed := d.b.Closed[g.owner]
	isolated := map[netpolicy.ID][]string{}
	for _, policy := range policies {
		rules := d.of(policy)
		pods := slices.DeleteFunc(slices.Clone(policy.Pods), func(id netpolicy.ID) bool { return !d.local[id].Address.IsValid() })
		if rules == nil || len(pods) == 0 {
			continue
		}
		for _, id := range pods {
			isolated[id] = append(isolated[id], policy.String())
		}
		g.vnid = d.vnid(d.local[pods[0]].VNID)
		for _, rule := range rules.Rules {
			if closed == "" && g.size <= mostParts {
				g.rule(policy, rule, pods)
			}
		}
	}
	if g.size > mostParts {
		d.b.excessive[g.owner] = fmt.Sprintf("their rules have more than %d pods, peers and ports for the pods of one node", mostParts)
		return
	}
	g.add()
	for id, names := range isolated {
		note := fmt.Sprintf("pod %s: no %s rule of NetworkPolicy %s allows it", id, d.word, strings.Join(names, ", "))
		if closed != "" {
			note = fmt.Sprintf("pod %s: the %s allow nothing: %s", id, g.owner, closed)
		}
		d.b.note(d.isolated, note, matches{openflow.Is(openflow.IP), d.pod(only(d.local[id].Address))})
	}
}

const (
	// mostActions is the number of conjunctions of which one flow is a part. Each takes 16 bytes of the flow's actions, which have less than 64 KiB.
	mostActions = 4000
	// mostParts is the number of pods, peers and ports in the rules of a namespace for the pods of one node. It limits the time in which the flows of other
	// namespaces are not changed.
	mostParts = 100000
)

// group has the flows of the policies of a namespace in one direction.
type group struct {
	*direction
	owner string
	// vnid matches a packet by the VNID of the namespace's pods.
	vnid openflow.Match
	// size is the number of pods, peers and ports of all rules.
	size  int
	flows []openflow.Flow
	// levels are the parts of conjunctions by match: a packet matches one of the flows with a match, which needs the actions of all conjunctions. The
	// conjunctions of each level have a priority of their own, so that there is room for any number.
	levels []map[string]*part
}

type part struct {
	match   matches
	actions map[openflow.Action]bool
}

// append adds a flow with a priority that is lower by the level.
func (g *group) append(r *Rule, level int, note string, match matches, actions ...openflow.Action) {
	g.flows = append(g.flows, openflow.Flow{Table: r.Table, Priority: r.Priority - uint16(level), Match: match, Actions: actions, Note: note, Owner: g.owner})
}

// add adds the flows of the group to those of the node.
func (g *group) add() {
	for level, parts := range g.levels {
		for _, p := range parts {
			g.append(g.conjunction, level, g.owner+": pods, peers and ports of their rules", p.match, slices.Sorted(maps.Keys(p.actions))...)
		}
	}
	g.b.flows = append(g.b.flows, g.flows...)
}

// rule adds one rule for the selected pods of the node. Named ports that resolve differently are separate rules.
func (g *group) rule(policy netpolicy.Policy, rule netpolicy.Rule, pods []netpolicy.ID) {
	name := fmt.Sprintf("NetworkPolicy %s, %s rule %d", policy.ID, g.word, rule.Index)
	if rule.Ports == nil {
		g.conjunct(name, "", g.selected(pods), g.peers(rule.Peers), nil)
		return
	}
	var everywhere []netpolicy.Port
	for _, port := range rule.Ports {
		if port.Destinations == nil {
			everywhere = append(everywhere, port)
		} else {
			g.named(name, rule, port, pods)
		}
	}
	if len(everywhere) > 0 {
		g.conjunct(name, "", g.selected(pods), g.peers(rule.Peers), g.ports(everywhere))
	}
}

// selected returns the matches of pods of the node.
func (g *group) selected(pods []netpolicy.ID) []matches {
	var out []matches
	for _, id := range pods {
		out = append(out, matches{openflow.Is(openflow.IP), g.pod(only(g.local[id].Address))})
	}
	return out
}

// named adds a named port of some destinations: selected pods for ingress, peers for egress.
func (g *group) named(name string, rule netpolicy.Rule, port netpolicy.Port, pods []netpolicy.ID) {
	suffix, ports := fmt.Sprintf("%s %d", port.Protocol, port.First), g.ports([]netpolicy.Port{port})
	if g.byVNID {
		has := slices.DeleteFunc(slices.Clone(pods), func(id netpolicy.ID) bool { return !slices.Contains(port.Destinations, id) })
		g.conjunct(name, suffix, g.selected(has), g.peers(rule.Peers), ports)
		return
	}
	var peers []matches
	for _, id := range port.Destinations {
		for _, a := range g.b.Addresses[id] {
			if a.Is4() && rule.Peers.Includes(netpolicy.End{Pod: id, Address: a}) {
				peers = append(peers, g.own(openflow.Is(openflow.IP), g.peer(only(a))))
			}
		}
	}
	g.conjunct(name, suffix, g.selected(pods), &peers, ports)
}

// own returns a match for packets of or to pods of the namespace.
func (g *group) own(more ...openflow.Match) matches { return append(more, g.vnid) }

// peers returns the matches of peers, nil for all. Pods of a namespace that is matched by VNID are omitted.
func (g *group) peers(p *netpolicy.Peers) *[]matches {
	if p == nil {
		return nil
	}
	out := []matches{}
	byVNID := map[string]bool{}
	for _, ns := range p.Namespaces {
		// VNID 0 also has nodes and clients outside the cluster: its pods are matched individually.
		if vnid, known := g.b.VNIDs[ns]; g.byVNID && known && vnid != Global {
			byVNID[ns] = true
			out = append(out, g.own(openflow.Is(openflow.IP), isSource(vnid)))
		}
	}
	for _, id := range p.Pods {
		if host, ok := g.b.Hosts[id]; ok && g.byVNID {
			out = append(out, g.own(openflow.Is(openflow.IP), g.peer(only(host))))
			continue
		}
		if byVNID[id.Namespace] {
			continue
		}
		for _, a := range g.b.Addresses[id] {
			if a.Is4() {
				out = append(out, g.own(openflow.Is(openflow.IP), g.peer(only(a))))
			}
		}
	}
	for _, block := range p.Blocks {
		for _, part := range Parts(block) {
			out = append(out, g.own(openflow.Is(openflow.IP), g.peer(part)))
		}
	}
	return &out
}

// conjunct adds the flows of a rule: one for each pod, peer and port, which are the dimensions of a conjunction. A nil dimension matches everything; an empty
// one matches nothing.
func (g *group) conjunct(name, suffix string, pods []matches, peers *[]matches, ports []matches) {
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
		g.size += len(one)
	}
	if len(dimensions) == 1 {
		for _, match := range pods {
			g.append(g.allowed, 0, g.allowed.Text, match, g.pass)
		}
		return
	}
	keys := make([][]string, len(dimensions))
	for i, one := range dimensions {
		for _, match := range one {
			keys[i] = append(keys[i], openflow.Flow{Match: match}.String())
		}
	}
	id, level := g.id(name+" "+suffix), g.level(slices.Concat(keys...))
	g.append(g.conjunction, level, name, matches{openflow.Is(openflow.IP), openflow.ConjunctionID(id)}, g.pass)
	for i, one := range dimensions {
		action := openflow.Conjunction(id, i+1, len(dimensions))
		for j, match := range one {
			key := keys[i][j]
			if g.levels[level][key] == nil {
				g.levels[level][key] = &part{match, map[openflow.Action]bool{}}
			}
			g.levels[level][key].actions[action] = true
		}
	}
}

// level returns the first level in which all matches have room for a conjunction.
func (g *group) level(keys []string) int {
	for i, parts := range g.levels {
		if !slices.ContainsFunc(keys, func(key string) bool { return parts[key] != nil && len(parts[key].actions) >= mostActions }) {
			return i
		}
	}
	g.levels = append(g.levels, map[string]*part{})
	return len(g.levels) - 1
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

// ports returns the matches of ports: masks that cover the ranges, and later fragments, which have no ports. Later fragments pass if any port of their
// protocol is allowed; without the first fragment they are never reassembled.
func (g *group) ports(ports []netpolicy.Port) []matches {
	out := []matches{}
	for _, p := range ports {
		protocol, known := protocols[p.Protocol]
		if !known {
			continue
		}
		if p.First <= 1 && p.Last == 65535 {
			out = append(out, g.own(openflow.Is(protocol)))
			continue
		}
		out = append(out, g.own(openflow.Is(protocol), openflow.LaterFragments()))
		for _, mask := range openflow.Ports(p.First, p.Last) {
			out = append(out, g.own(openflow.Is(protocol), openflow.DestinationPort(mask)))
		}
	}
	return out
}

// Parts returns the prefixes that cover a block without its exceptions. It is nil for IPv6 blocks.
func Parts(block netpolicy.Block) []netip.Prefix {
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
