package northbound

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// policy is a parsed NetworkPolicy.
type policy struct {
	outline  netpolicy.Outline
	problems []netpolicy.Problem
}

// uses calls f for each use of a selector: the pods of the policy, peers, and the destinations of named ports.
func (p *policy) uses(f func(s netpolicy.Selector, peer bool, port *namedPort)) {
	f(p.outline.Selected, false, nil)
	if in := p.outline.Ingress; in != nil {
		for _, rule := range in.Rules {
			for _, s := range rule.Selectors {
				f(s, true, nil)
			}
			for _, port := range namedPorts(rule) {
				f(p.outline.Selected, false, &port)
			}
		}
	}
	if out := p.outline.Egress; out != nil {
		for _, rule := range out.Rules {
			for _, s := range rule.Selectors {
				f(s, true, nil)
			}
			for _, port := range namedPorts(rule) {
				for _, s := range destinations(rule) {
					f(s, false, &port)
				}
			}
		}
	}
}

// destinations returns the selectors of pods that a named port of an egress rule may belong to.
func destinations(rule netpolicy.OutlineRule) []netpolicy.Selector {
	if rule.Everyone || len(rule.Blocks) > 0 {
		return append(slices.Clone(rule.Selectors), netpolicy.Everywhere())
	}
	return rule.Selectors
}

func namedPorts(rule netpolicy.OutlineRule) []namedPort {
	var out []namedPort
	for _, p := range rule.Ports {
		if n := (namedPort{p.Protocol, p.Name}); p.Name != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func (s *State) usePolicy(p *policy) {
	p.uses(func(selector netpolicy.Selector, peer bool, port *namedPort) {
		o := s.of(selector)
		switch {
		case port != nil && o.named[*port] == nil:
			o.named[*port] = map[netpolicy.ID]bool{p.outline.ID: true}
		case port != nil:
			o.named[*port][p.outline.ID] = true
		case peer:
			o.peers[p.outline.ID] = true
		default:
			o.selecting[p.outline.ID] = true
		}
		s.touch(selectionUnit, o.key)
	})
}

func (s *State) releasePolicy(p *policy) {
	p.uses(func(selector netpolicy.Selector, peer bool, port *namedPort) {
		o := s.of(selector)
		switch {
		case port != nil:
			if delete(o.named[*port], p.outline.ID); len(o.named[*port]) == 0 {
				delete(o.named, *port)
			}
		case peer:
			delete(o.peers, p.outline.ID)
		default:
			delete(o.selecting, p.outline.ID)
		}
		s.drop(o)
	})
}

// policyRows returns the group of a policy's pods with its rules.
func (s *State) policyRows(id netpolicy.ID) []ovsdb.Desired {
	p := s.policies[id]
	if p == nil {
		return nil
	}
	group := identifier("p", "policy "+id.String())
	var rows []ovsdb.Desired
	if p.outline.Ingress != nil {
		for _, rule := range p.outline.Ingress.Rules {
			rows = append(rows, s.ingressRows(p, group, rule)...)
		}
	}
	if p.outline.Egress != nil {
		for _, rule := range p.outline.Egress.Rules {
			rows = append(rows, s.egressRows(p, group, rule)...)
		}
	}
	var rules []ovsdb.Ref
	for _, row := range rows {
		if row.Table == tableAccessRules {
			logged(row, s.logging[id.Namespace].Allow)
			rules = append(rules, row.Ref)
		}
	}
	one := portGroup(group, s.portsOf(s.of(p.outline.Selected).pods), rules...)
	one.Key = "policy " + id.String()
	return append(rows, one)
}

// portsOf returns the ports of those pods that have one.
func (s *State) portsOf(pods map[netpolicy.ID]bool) ovsdb.Set {
	ports := ovsdb.Set{}
	for id := range pods {
		if s.hasPort(s.pods[id]) {
			ports = append(ports, podPort(id))
		}
	}
	return ports
}

// isolationRows returns the groups of a namespace's isolated pods, with the rules that drop packets that no policy allows.
func (s *State) isolationRows(namespace string) []ovsdb.Desired {
	in, out := map[netpolicy.ID]bool{}, map[netpolicy.ID]bool{}
	ingress, egress := false, false
	for id := range s.policiesOf[namespace] {
		o := s.policies[id].outline
		pods := s.of(o.Selected).pods
		if o.Ingress != nil {
			ingress = true
			maps.Copy(in, pods)
		}
		if o.Egress != nil {
			egress = true
			maps.Copy(out, pods)
		}
	}
	var rows []ovsdb.Desired
	if ingress {
		rows = append(rows, s.isolated(namespace, netpolicy.Ingress, toPod, "outport", in)...)
	}
	if egress {
		rows = append(rows, s.isolated(namespace, netpolicy.Egress, fromPod, "inport", out)...)
	}
	return rows
}

func (s *State) isolated(namespace, name, direction, end string, pods map[netpolicy.ID]bool) []ovsdb.Desired {
	key := topology.IsolationKey(namespace, name)
	group := identifier("p", key)
	drop := rule(key+" drop", direction, dropPriority, "drop", fmt.Sprintf("%s == @%s", end, group))
	logged(drop, s.logging[namespace].Deny)
	neighbours := rule(key+" neighbours", direction, allowPriority, "allow", fmt.Sprintf("%s == @%s && (arp || nd)", end, group))
	one := portGroup(group, s.portsOf(pods), drop.Ref, neighbours.Ref)
	one.Key = key
	return []ovsdb.Desired{drop, neighbours, one}
}

func (s *State) ingressRows(p *policy, group string, r netpolicy.OutlineRule) []ovsdb.Desired {
	peers, ok := s.peers(r, "src")
	if !ok {
		return nil
	}
	key := topology.RuleKey(p.outline.ID, netpolicy.Ingress, r.Index)
	pods := fmt.Sprintf("outport == @%s", group)
	rows := numbered(key, toPod, pods, peers, r)
	selected := s.of(p.outline.Selected)
	for _, port := range namedPorts(r) {
		for _, number := range s.numbers(selected, port) {
			match := conjunction(pods, peers, s.numberMatch(selected, port, number), portMatch(port, number))
			rows = append(rows, rule(fmt.Sprintf("%s %s %d", key, port, number), toPod, allowPriority, "allow-related", match))
		}
	}
	return rows
}

func (s *State) egressRows(p *policy, group string, r netpolicy.OutlineRule) []ovsdb.Desired {
	peers, ok := s.peers(r, "dst")
	if !ok {
		return nil
	}
	key := topology.RuleKey(p.outline.ID, netpolicy.Egress, r.Index)
	pods := fmt.Sprintf("inport == @%s", group)
	rows := numbered(key, fromPod, pods, peers, r)
	for _, port := range namedPorts(r) {
		selectors := r.Selectors
		if r.Everyone {
			selectors = destinations(r)
		}
		for _, selector := range selectors {
			o := s.of(selector)
			for _, number := range s.numbers(o, port) {
				match := conjunction(pods, s.numberMatch(o, port, number), portMatch(port, number))
				rows = append(rows, rule(fmt.Sprintf("%s %s %d of %s", key, port, number, o.key), fromPod, allowPriority, "allow-related", match))
			}
		}
		rows = append(rows, s.blockRows(key, pods, port, r)...)
	}
	return rows
}

// blockRows returns the rules for a named port of pods in address ranges. Each rule has a set with the addresses of these pods.
func (s *State) blockRows(key, pods string, port namedPort, r netpolicy.OutlineRule) []ovsdb.Desired {
	if len(r.Blocks) == 0 {
		return nil
	}
	var rows []ovsdb.Desired
	everywhere := s.of(netpolicy.Everywhere())
	for _, number := range s.numbers(everywhere, port) {
		at := fmt.Sprintf("%s %s %d in blocks", key, port, number)
		var alternatives []string
		for _, like := range s.families() {
			inside := slices.DeleteFunc(s.addressesOf(everywhere, like, &port, number), func(a netip.Addr) bool {
				return !slices.ContainsFunc(r.Blocks, func(b netpolicy.Block) bool { return b.Contains(a) })
			})
			set := addressSet(family(like)+" "+at, inside)
			rows = append(rows, set)
			alternatives = append(alternatives, fmt.Sprintf("%s.dst == $%s", family(like), set.Columns["name"]))
		}
		rows = append(rows, rule(at, fromPod, allowPriority, "allow-related", conjunction(pods, disjunction(alternatives), portMatch(port, number))))
	}
	return rows
}

// numbered returns the rule for all numeric ports; nil if there are only named ports.
func numbered(key, direction, pods, peers string, r netpolicy.OutlineRule) []ovsdb.Desired {
	var ports []string
	for _, p := range r.Ports {
		name := protocol(p.Protocol)
		switch {
		case p.Name != "":
		case p.First == 1 && p.Last == 65535:
			ports = append(ports, name)
		case p.First == p.Last:
			ports = append(ports, fmt.Sprintf("%s.dst == %d", name, p.First))
		default:
			ports = append(ports, fmt.Sprintf("%d <= %s.dst <= %d", p.First, name, p.Last))
		}
	}
	if r.Ports != nil && len(ports) == 0 {
		return nil
	}
	if r.Ports == nil {
		ports = []string{"ip"}
	}
	slices.Sort(ports)
	match := conjunction(pods, peers, disjunction(slices.Compact(ports)))
	return []ovsdb.Desired{rule(key, direction, allowPriority, "allow-related", match)}
}

func portMatch(port namedPort, number uint16) string {
	return fmt.Sprintf("%s.dst == %d", protocol(port.protocol), number)
}

// numberMatch matches destinations whose named port has a number.
func (s *State) numberMatch(o *selection, port namedPort, number uint16) string {
	var alternatives []string
	for _, like := range s.families() {
		alternatives = append(alternatives, fmt.Sprintf("%s.dst == $%s", family(like), identifier("a", o.numberKey(like, port, number))))
	}
	return disjunction(alternatives)
}

// peers returns the match of a rule's peers, empty for every peer; ok is false if no peer can match.
func (s *State) peers(r netpolicy.OutlineRule, end string) (match string, ok bool) {
	if r.Everyone {
		return "", true
	}
	var alternatives []string
	for _, like := range s.families() {
		var members []string
		for _, selector := range r.Selectors {
			members = append(members, "$"+identifier("a", s.of(selector).setKey(like)))
		}
		for _, b := range r.Blocks {
			if b.CIDR.Addr().Is4() == like.Is4() {
				for _, p := range without(b.CIDR, b.Except) {
					members = append(members, p.String())
				}
			}
		}
		if slices.Sort(members); len(members) > 0 {
			alternatives = append(alternatives, fmt.Sprintf("%s.%s == {%s}", family(like), end, strings.Join(slices.Compact(members), ", ")))
		}
	}
	return disjunction(alternatives), len(alternatives) > 0
}

// without returns the prefixes that cover p without except. Their number is the sum over the exceptions; a match with negations would need the product.
func without(p netip.Prefix, except []netip.Prefix) []netip.Prefix {
	overlapping := slices.DeleteFunc(slices.Clone(except), func(e netip.Prefix) bool { return !e.Overlaps(p) })
	if len(overlapping) == 0 {
		return []netip.Prefix{p}
	}
	if slices.ContainsFunc(overlapping, func(e netip.Prefix) bool { return e.Bits() <= p.Bits() }) {
		return nil
	}
	low := netip.PrefixFrom(p.Addr(), p.Bits()+1)
	bytes := p.Addr().AsSlice()
	bytes[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	high, _ := netip.AddrFromSlice(bytes)
	return append(without(low, overlapping), without(netip.PrefixFrom(high, p.Bits()+1), overlapping)...)
}

func conjunction(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " && ")
}

// disjunction adds parentheses around several parts.
func disjunction(parts []string) string {
	if len(parts) == 1 && !strings.Contains(parts[0], "<=") {
		return parts[0]
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, " || ") + ")"
}
