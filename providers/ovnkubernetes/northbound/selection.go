package northbound

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// selection has the pods of one selector. Policies with the same selector share it, and its address sets.
type selection struct {
	key      string
	selector netpolicy.Selector
	pods     map[netpolicy.ID]bool
	// selecting are the policies that apply to the pods, peers the policies with rules for their addresses, named the policies with rules for their named
	// ports.
	selecting, peers map[netpolicy.ID]bool
	named            map[namedPort]map[netpolicy.ID]bool
}

// namedPort is a named port of pods.
type namedPort struct {
	protocol corev1.Protocol
	name     string
}

func (n namedPort) String() string { return string(n.protocol) + " " + n.name }

// of returns the selection of a selector. It creates a new one with the existing pods.
func (s *State) of(selector netpolicy.Selector) *selection {
	key := selector.Key()
	if found := s.selections[key]; found != nil {
		return found
	}
	one := &selection{
		key: key, selector: selector, pods: map[netpolicy.ID]bool{}, selecting: map[netpolicy.ID]bool{}, peers: map[netpolicy.ID]bool{},
		named: map[namedPort]map[netpolicy.ID]bool{},
	}
	s.selections[key] = one
	pods := maps.Keys(s.pods)
	if selector.Namespaces == nil {
		if s.inside[selector.Namespace] == nil {
			s.inside[selector.Namespace] = map[string]*selection{}
		}
		s.inside[selector.Namespace][key] = one
		pods = maps.Keys(s.podsOf[selector.Namespace])
	} else {
		s.across[key] = one
	}
	for id := range pods {
		if p := s.pods[id]; selector.Selects(&p.Pod, s.namespaces[id.Namespace]) {
			one.pods[id] = true
		}
	}
	return one
}

// drop removes a selection that no policy uses.
func (s *State) drop(one *selection) {
	s.touch(selectionUnit, one.key)
	if len(one.selecting)+len(one.peers)+len(one.named) > 0 {
		return
	}
	delete(s.selections, one.key)
	delete(s.across, one.key)
	if namespace := one.selector.Namespace; one.selector.Namespaces == nil {
		if delete(s.inside[namespace], one.key); len(s.inside[namespace]) == 0 {
			delete(s.inside, namespace)
		}
	}
}

// reselect updates the selections that a pod joins and leaves, and calls stays for those that keep it.
func (s *State) reselect(id netpolicy.ID, stays func(*selection)) {
	p := s.pods[id]
	for _, list := range []map[string]*selection{s.inside[id.Namespace], s.across} {
		for _, one := range list {
			selected := p != nil && one.selector.Selects(&p.Pod, s.namespaces[id.Namespace])
			switch {
			case selected && !one.pods[id]:
				one.pods[id] = true
				one.changed(s)
			case !selected && one.pods[id]:
				delete(one.pods, id)
				one.changed(s)
			case selected && stays != nil:
				stays(one)
			}
		}
	}
}

// changed marks the rows that depend on the pods of a selection.
func (o *selection) changed(s *State) {
	for id := range o.selecting {
		s.touch(policyUnit, id.String())
		s.touch(isolationUnit, id.Namespace)
	}
	if len(o.peers)+len(o.named) > 0 {
		s.touch(selectionUnit, o.key)
	}
	for _, policies := range o.named {
		for id := range policies {
			s.touch(policyUnit, id.String())
		}
	}
}

// addressesOf returns the addresses of a selection's pods in one family: of all pods, or of those whose named port has a number.
func (s *State) addressesOf(o *selection, like netip.Addr, port *namedPort, number uint16) []netip.Addr {
	var out []netip.Addr
	for id := range o.pods {
		p := s.pods[id]
		if port != nil && !slices.Contains(p.Ports, netpolicy.NamedPort{Name: port.name, Protocol: port.protocol, Port: number}) {
			continue
		}
		for _, a := range p.Addresses {
			if a.Is4() == like.Is4() {
				out = append(out, a)
			}
		}
	}
	return out
}

// numbers returns the sorted numbers of a named port among the pods of a selection.
func (s *State) numbers(o *selection, port namedPort) []uint16 {
	found := map[uint16]bool{}
	for id := range o.pods {
		for _, p := range s.pods[id].Ports {
			if p.Name == port.name && p.Protocol == port.protocol {
				found[p.Port] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// families returns one address of each family of the cluster network.
func (s *State) families() []netip.Addr {
	var out []netip.Addr
	for _, n := range s.cluster.Networks {
		if !slices.ContainsFunc(out, func(a netip.Addr) bool { return a.Is4() == n.Addr().Is4() }) {
			out = append(out, n.Addr())
		}
	}
	return out
}

// setKey is the key of the addresses of a selection, numberKey of those of its pods whose named port has a number.
func (o *selection) setKey(like netip.Addr) string { return family(like) + " " + o.key }

func (o *selection) numberKey(like netip.Addr, port namedPort, number uint16) string {
	return fmt.Sprintf("%s %d of %s", port, number, o.setKey(like))
}

// selectionRows returns the address sets of a selection.
func (s *State) selectionRows(key string) []ovsdb.Desired {
	o := s.selections[key]
	if o == nil {
		return nil
	}
	var rows []ovsdb.Desired
	for _, like := range s.families() {
		if len(o.peers) > 0 {
			rows = append(rows, addressSet(o.setKey(like), s.addressesOf(o, like, nil, 0)))
		}
		for port := range o.named {
			for _, number := range s.numbers(o, port) {
				rows = append(rows, addressSet(o.numberKey(like, port, number), s.addressesOf(o, like, &port, number)))
			}
		}
	}
	return rows
}

func addressSet(key string, addresses []netip.Addr) ovsdb.Desired {
	slices.SortFunc(addresses, netip.Addr.Compare)
	members := ovsdb.Set{}
	for _, a := range slices.Compact(addresses) {
		members = append(members, a.String())
	}
	return ovsdb.Desired{Ref: ovsdb.Ref{Table: tableAddresses, Key: key}, Columns: map[string]any{"name": identifier("a", key), "addresses": members}}
}
