package egressip

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// assignment is a step of Assign in the making.
type assignment struct {
	Cluster
	byName map[string]*Node
	asking map[netip.Addr][]string
	// manual are addresses that an administrator gave to a node, own the tunnel addresses.
	manual, own map[netip.Addr]bool
	// held are the addresses of automatic nodes, owner is whose they are.
	held  map[string][]netip.Addr
	owner map[netip.Addr]string
	found problems
}

// Assign returns the egress IPs of each automatic node, which are those that it has unless something is to change. It is a step: an address
// that moves is removed from its node first, and the step after that, with this one written, gives it to another. So no two nodes have it at
// a time. Steps end: after few of them nothing changes.
//
// An address stays where it is while it may. It goes to the node with the fewest addresses of those that are online, offer it, and have
// none of its namespace. Addresses that one node alone offers come first, then those of namespaces that ask for few. It leaves a node that
// is offline, if another one can take it; and if a node has less than half of what it would get of an allocation from nothing, some
// addresses move to it.
func Assign(c Cluster) (map[string][]netip.Addr, []Problem) {
	s := &assignment{Cluster: c, byName: map[string]*Node{}, asking: c.asking(), manual: map[netip.Addr]bool{}, own: map[netip.Addr]bool{},
		held: map[string][]netip.Addr{}, owner: map[netip.Addr]string{}}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		s.byName[n.Name], s.own[n.Address] = n, true
		if !n.automatic() {
			for _, a := range n.Addresses {
				s.manual[a] = true
			}
		}
	}
	removed := s.keep()
	removed = s.leaveOffline() || removed
	given := s.give(s.pending(), s.held)
	if !removed && !given && !slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.automatic() && n.State == Unknown }) {
		s.balance()
	}
	return s.held, s.found
}

// automatic are the automatic nodes: those that are online first, so that one of them keeps an address that two have.
func (s *assignment) automatic() []*Node {
	var out []*Node
	for i := range s.Nodes {
		if s.Nodes[i].automatic() {
			out = append(out, &s.Nodes[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *Node) int {
		rank := func(n *Node) int {
			if n.State == Offline {
				return 1
			}
			return 0
		}
		return cmp.Compare(rank(a), rank(b))
	})
	return out
}

// keep leaves addresses where they are, unless they may not be there.
func (s *assignment) keep() (removed bool) {
	for _, n := range s.automatic() {
		s.held[n.Name] = nil
		for _, a := range n.Addresses {
			if asking := s.asking[a]; len(asking) == 0 || !n.offers(a) || s.manual[a] || s.own[a] || s.owner[a] != "" || s.has(s.held[n.Name], asking[0]) {
				removed = true
				continue
			}
			s.held[n.Name] = append(s.held[n.Name], a)
			s.owner[a] = n.Name
		}
	}
	return removed
}

// has reports whether a list has an address of a namespace.
func (s *assignment) has(list []netip.Addr, namespace string) bool {
	return slices.ContainsFunc(list, func(a netip.Addr) bool { return slices.Contains(s.asking[a], namespace) })
}

// candidates are the nodes that could take an address, beside what some lists have.
func (s *assignment) candidates(a netip.Addr, lists map[string][]netip.Addr) []string {
	var out []string
	for _, n := range s.Nodes {
		if n.State == Online && n.offers(a) && !s.has(lists[n.Name], s.asking[a][0]) {
			out = append(out, n.Name)
		}
	}
	return out
}

// leaveOffline removes addresses from nodes that are offline, if another node can take them.
func (s *assignment) leaveOffline() (removed bool) {
	planned := map[string][]netip.Addr{} // with what this step and the next one give
	for n, list := range s.held {
		planned[n] = slices.Clone(list)
	}
	quiet := *s // the problems of a plan are none
	quiet.give(s.pending(), planned)
	for _, n := range s.automatic() {
		if n.State != Offline {
			continue
		}
		s.held[n.Name] = slices.DeleteFunc(s.held[n.Name], func(a netip.Addr) bool {
			to := s.candidates(a, planned)
			if len(s.asking[a]) != 1 || len(to) == 0 {
				return false
			}
			planned[to[0]] = append(planned[to[0]], a)
			delete(s.owner, a)
			removed = true
			return true
		})
	}
	return removed
}

// pending are addresses that one namespace asks for, and no node has.
func (s *assignment) pending() []netip.Addr {
	having := s.having()
	var out []netip.Addr
	for a, asking := range s.asking {
		if len(asking) == 1 && len(having[a]) == 0 && !s.own[a] {
			out = append(out, a)
		}
	}
	return out
}

// give adds addresses to lists. Those that no node can take now are problems, unless no node would offer them.
func (s *assignment) give(addresses []netip.Addr, lists map[string][]netip.Addr) (given bool) {
	few := map[string]int{}
	for _, n := range s.Namespaces {
		few[n.Name] = len(n.Addresses)
	}
	choices := map[netip.Addr]int{}
	for _, a := range addresses {
		choices[a] = min(2, len(s.candidates(a, lists)))
	}
	slices.SortFunc(addresses, func(a, b netip.Addr) int {
		return cmp.Or(cmp.Compare(choices[a], choices[b]), cmp.Compare(few[s.asking[a][0]], few[s.asking[b][0]]), a.Compare(b))
	})
	for _, a := range addresses {
		candidates := s.candidates(a, lists)
		if len(candidates) == 0 {
			s.nowhere(a)
			continue
		}
		n := slices.MinFunc(candidates, func(x, y string) int { return cmp.Compare(len(lists[x]), len(lists[y])) })
		lists[n] = append(lists[n], a)
		given = true
	}
	return given
}

// nowhere reports that no node can take an address.
func (s *assignment) nowhere(a netip.Addr) {
	offering, unknown := 0, false
	for _, n := range s.Nodes {
		if n.offers(a) {
			offering++
			unknown = unknown || n.State == Unknown
		}
	}
	if offering == 0 || unknown {
		return // Resolve reports the first, and a step to come decides the second
	}
	i := slices.IndexFunc(s.Namespaces, func(n Namespace) bool { return n.Name == s.asking[a][0] })
	s.found.add(s.Namespaces[i].Object, ReasonUnassigned,
		"no node can take egress IP %s: those that offer it (%d) are offline, or have another address of the namespace; add its network to egressCIDRs of another HostSubnet", a, offering)
}

// balance removes addresses from their nodes that are to move to one with far too few. Its node would never get them back: each leaves one
// that keeps more than that one gets.
func (s *assignment) balance() {
	var all []netip.Addr
	for a := range s.owner {
		if len(s.asking[a]) == 1 && s.byName[s.owner[a]].State == Online {
			all = append(all, a)
		}
	}
	fresh := map[string][]netip.Addr{}
	quiet := *s
	quiet.give(all, fresh)
	moving := map[string][]netip.Addr{}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if len(fresh[name]) <= 2*len(s.held[name]) {
			continue
		}
		for _, a := range fresh[name] {
			from, have := s.owner[a], slices.Concat(s.held[name], moving[name])
			if 2*len(have) >= len(fresh[name]) {
				break
			}
			if from == name || len(s.held[from]) <= len(have)+1 || s.has(have, s.asking[a][0]) {
				continue
			}
			s.held[from] = slices.DeleteFunc(s.held[from], func(one netip.Addr) bool { return one == a })
			moving[name] = append(moving[name], a)
		}
	}
}
