package northbound

import (
	"cmp"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// State has the objects of a cluster and the resulting rows. Objects may be set and deleted in any order; Changes then computes the affected rows. It is not
// safe for concurrent use. The caller must not modify objects after passing them.
type State struct {
	cluster    Cluster
	nodes      map[string]Node
	namespaces map[string]netpolicy.Namespace
	pods       map[netpolicy.ID]*Pod
	services   map[netpolicy.ID]balancing
	policies   map[netpolicy.ID]*policy
	selections map[string]*selection

	// podsOf are the pods of a namespace, podsOn those of a node. inside has the selections of one namespace, across all others.
	podsOf, podsOn map[string]map[netpolicy.ID]bool
	inside         map[string]map[string]*selection
	across         map[string]*selection
	policiesOf     map[string]map[netpolicy.ID]bool
	// local are Services with a load balancer on each switch.
	local map[netpolicy.ID]bool
	// multicast are the namespaces with multicast.
	multicast map[string]bool
	// logging has the namespaces with messages. rateLimit is the maximum number of messages per second.
	logging   map[string]topology.Logging
	rateLimit uint32

	dirty map[unit]bool
	rows  map[unit][]ovsdb.Desired
}

// unit is a group of rows that are computed together.
type unit struct {
	kind kind
	key  string
}

type kind string

const (
	clusterUnit   kind = "cluster"
	groupUnit     kind = "group"
	balancersUnit kind = "balancers"
	nodeUnit      kind = "node"
	podUnit       kind = "pod"
	serviceUnit   kind = "service"
	policyUnit    kind = "policy"
	isolationUnit kind = "isolation"
	selectionUnit kind = "selection"
	multicastUnit kind = "multicast"
	meterUnit     kind = "meter"
)

// NewState returns the state of a cluster without objects.
func NewState(c Cluster) *State {
	s := &State{
		cluster: c, nodes: map[string]Node{}, namespaces: map[string]netpolicy.Namespace{}, pods: map[netpolicy.ID]*Pod{},
		services: map[netpolicy.ID]balancing{}, policies: map[netpolicy.ID]*policy{}, selections: map[string]*selection{},
		podsOf: map[string]map[netpolicy.ID]bool{}, podsOn: map[string]map[netpolicy.ID]bool{},
		inside: map[string]map[string]*selection{}, across: map[string]*selection{},
		policiesOf: map[string]map[netpolicy.ID]bool{}, local: map[netpolicy.ID]bool{}, multicast: map[string]bool{},
		logging: map[string]topology.Logging{}, rateLimit: agentconfig.DefaultAudit().RateLimit,
		dirty: map[unit]bool{}, rows: map[unit][]ovsdb.Desired{},
	}
	for _, k := range []kind{clusterUnit, groupUnit, balancersUnit} {
		s.touch(k, "")
	}
	return s
}

func (s *State) touch(k kind, key string) { s.dirty[unit{k, key}] = true }

// Changes computes the rows that are affected by the objects set or deleted since the last call. changed may include unchanged rows. removed are the
// references of rows that are no longer desired.
func (s *State) Changes() (changed []ovsdb.Desired, removed []ovsdb.Ref) {
	before := map[ovsdb.Ref]bool{}
	for u := range s.dirty {
		for _, row := range s.rows[u] {
			before[row.Ref] = true
		}
		rows := s.compute(u)
		if s.rows[u] = rows; len(rows) == 0 {
			delete(s.rows, u)
		}
		changed = append(changed, rows...)
	}
	clear(s.dirty)
	for _, row := range changed {
		delete(before, row.Ref)
	}
	return changed, slices.SortedFunc(maps.Keys(before), func(a, b ovsdb.Ref) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Key, b.Key))
	})
}

// Rows returns all rows as of the last call of Changes.
func (s *State) Rows() []ovsdb.Desired {
	var all []ovsdb.Desired
	for _, rows := range s.rows {
		all = append(all, rows...)
	}
	return all
}

// Problems returns the parts of policies that match nothing, sorted by policy.
func (s *State) Problems() []netpolicy.Problem {
	var all []netpolicy.Problem
	for _, id := range slices.SortedFunc(maps.Keys(s.policies), netpolicy.ID.Compare) {
		all = append(all, s.policies[id].problems...)
	}
	return all
}

func (s *State) compute(u unit) []ovsdb.Desired {
	switch u.kind {
	case clusterUnit:
		return s.routerRows()
	case groupUnit:
		return s.groupRows()
	case balancersUnit:
		return s.balancersRows()
	case nodeUnit:
		return s.nodeRows(u.key)
	case podUnit:
		return s.podRows(parseID(u.key))
	case serviceUnit:
		return s.serviceRows(parseID(u.key))
	case policyUnit:
		return s.policyRows(parseID(u.key))
	case meterUnit:
		return s.meterRows()
	case multicastUnit:
		return s.multicastRows(u.key)
	case isolationUnit:
		return s.isolationRows(u.key)
	}
	return s.selectionRows(u.key)
}

// SetNode adds or replaces a node.
func (s *State) SetNode(n Node) {
	if old, exists := s.nodes[n.Name]; exists && slices.Equal(old.Blocks, n.Blocks) {
		return
	}
	s.nodes[n.Name] = n
	s.nodeChanged(n.Name)
}

// DeleteNode removes a node. Its pods lose their ports.
func (s *State) DeleteNode(name string) {
	if _, exists := s.nodes[name]; exists {
		delete(s.nodes, name)
		s.nodeChanged(name)
	}
}

func (s *State) nodeChanged(name string) {
	s.touch(clusterUnit, "")
	s.touch(nodeUnit, name)
	for id := range s.podsOn[name] {
		s.portChanged(s.pods[id])
		s.reselect(id, func(selected *selection) { selected.changed(s) })
	}
	for id := range s.local {
		s.touch(serviceUnit, id.String())
	}
}

// SetNamespace adds or replaces a namespace.
func (s *State) SetNamespace(n netpolicy.Namespace) {
	if old, exists := s.namespaces[n.Name]; exists && maps.Equal(old.Labels, n.Labels) {
		return
	}
	s.namespaces[n.Name] = n
	s.namespaceChanged(n.Name)
}

// DeleteNamespace removes a namespace. Its pods leave all selections with namespace selectors.
func (s *State) DeleteNamespace(name string) {
	delete(s.namespaces, name)
	s.namespaceChanged(name)
}

func (s *State) namespaceChanged(name string) {
	for id := range s.podsOf[name] {
		s.reselect(id, nil)
	}
}

// SetPolicy adds or replaces a NetworkPolicy.
func (s *State) SetPolicy(p *networkingv1.NetworkPolicy) {
	id := netpolicy.ID{Namespace: p.Namespace, Name: p.Name}
	outline, problems := netpolicy.OutlineOf(p)
	next := &policy{outline: outline, problems: problems}
	old := s.policies[id]
	if old != nil {
		s.releasePolicy(old)
	}
	s.policies[id] = next
	s.usePolicy(next)
	add(s.policiesOf, p.Namespace, id)
	s.touch(policyUnit, id.String())
	s.touch(isolationUnit, p.Namespace)
}

// DeletePolicy removes a NetworkPolicy.
func (s *State) DeletePolicy(id netpolicy.ID) {
	old := s.policies[id]
	if old == nil {
		return
	}
	delete(s.policies, id)
	s.releasePolicy(old)
	remove(s.policiesOf, id.Namespace, id)
	s.touch(policyUnit, id.String())
	s.touch(isolationUnit, id.Namespace)
}

func add(index map[string]map[netpolicy.ID]bool, key string, id netpolicy.ID) {
	if index[key] == nil {
		index[key] = map[netpolicy.ID]bool{}
	}
	index[key][id] = true
}

func remove(index map[string]map[netpolicy.ID]bool, key string, id netpolicy.ID) {
	if delete(index[key], id); len(index[key]) == 0 {
		delete(index, key)
	}
}
