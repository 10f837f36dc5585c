package egressip

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// assignment is the state of Assign.
type assignment struct {
	Cluster
	byName     map[string]*Node
	requesters map[netip.Addr][]string
	// manual are the addresses that an administrator assigned to a node. own are the tunnel addresses.
	manual, own map[netip.Addr]bool
	// held are the addresses of automatic nodes, and owner their nodes by address.
	held  map[string][]netip.Addr
	owner map[netip.Addr]string
	found problems
}

// Assign returns the egress IPs of each automatic node. They are the current ones unless something must change. Each call is one step: an address that moves
// is first removed from its node, and the next step, after this one is written, assigns it to another node. So no two nodes have it at the same time. After a
// few steps nothing changes any more.
//
// An address stays on its node if possible. A new address goes to the node with the fewest addresses among those that are online, offer it, and have no other
// address of its namespace. Addresses that only one node offers come first, then those of namespaces with few addresses. An address leaves an offline node if
// another node can take it. If a node has less than half of the addresses that it would get in a new allocation, some addresses move to it.
func Assign(c Cluster) (map[string][]netip.Addr, []Problem) {
	s := &assignment{Cluster: c, byName: map[string]*Node{}, requesters: c.requesters(), manual: map[netip.Addr]bool{}, own: map[netip.Addr]bool{},
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

// automatic returns the automatic nodes. Online nodes come first, so that one of them keeps an address that two nodes have.
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

// keep leaves addresses on their nodes if they are still valid there.
func (s *assignment) keep() (removed bool) {
	for _, n := range s.automatic() {
		s.held[n.Name] = nil
		for _, a := range n.Addresses {
			if requesters := s.requesters[a]; len(requesters) == 0 || !n.offers(a) || s.manual[a] || s.own[a] || s.owner[a] != "" || s.has(s.held[n.Name], requesters[0]) {
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
	return slices.ContainsFunc(list, func(a netip.Addr) bool { return slices.Contains(s.requesters[a], namespace) })
}

// candidates returns the nodes that could take an address in addition to those in lists.
func (s *assignment) candidates(a netip.Addr, lists map[string][]netip.Addr) []string {
	var out []string
	for _, n := range s.Nodes {
		if n.State == Online && n.offers(a) && !s.has(lists[n.Name], s.requesters[a][0]) {
			out = append(out, n.Name)
		}
	}
	return out
}

// leaveOffline removes addresses from offline nodes if another node can take them.
func (s *assignment) leaveOffline() (removed bool) {
	planned := map[string][]netip.Addr{} // the addresses after this step and the next one
	for n, list := range s.held {
		planned[n] = slices.Clone(list)
	}
	quiet := *s // a plan reports no problems
	quiet.give(s.pending(), planned)
	for _, n := range s.automatic() {
		if n.State != Offline {
			continue
		}
		s.held[n.Name] = slices.DeleteFunc(s.held[n.Name], func(a netip.Addr) bool {
			to := s.candidates(a, planned)
			if len(s.requesters[a]) != 1 || len(to) == 0 {
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

// pending returns the addresses that exactly one namespace requests and no node has.
func (s *assignment) pending() []netip.Addr {
	holders := s.holders()
	var out []netip.Addr
	for a, requesters := range s.requesters {
		if len(requesters) == 1 && len(holders[a]) == 0 && !s.own[a] {
			out = append(out, a)
		}
	}
	return out
}

// give adds addresses to lists. An address that no node can take now is a problem, unless no node offers it.
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
		return cmp.Or(cmp.Compare(choices[a], choices[b]), cmp.Compare(few[s.requesters[a][0]], few[s.requesters[b][0]]), a.Compare(b))
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
		return // Resolve reports the former; a later step decides the latter
	}
	i := slices.IndexFunc(s.Namespaces, func(n Namespace) bool { return n.Name == s.requesters[a][0] })
	s.found.add(s.Namespaces[i].Object, ReasonUnassigned,
		"no node can take egress IP %s: those that offer it (%d) are offline, or have another address of the namespace; add its network to egressCIDRs of another HostSubnet", a, offering)
}

// balance removes addresses from their nodes so that they move to a node with far too few. They never move back: each leaves a node that keeps more than the
// other node gets.
func (s *assignment) balance() {
	var all []netip.Addr
	for a := range s.owner {
		if len(s.requesters[a]) == 1 && s.byName[s.owner[a]].State == Online {
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
			from, assigned := s.owner[a], slices.Concat(s.held[name], moving[name])
			if 2*len(assigned) >= len(fresh[name]) {
				break
			}
			if from == name || len(s.held[from]) <= len(assigned)+1 || s.has(assigned, s.requesters[a][0]) {
				continue
			}
			s.held[from] = slices.DeleteFunc(s.held[from], func(one netip.Addr) bool { return one == a })
			moving[name] = append(moving[name], a)
		}
	}
}
