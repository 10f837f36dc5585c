// Package mtumigration changes the MTU of a network in use, in steps, node by node, without interrupting traffic. It is independent of the
// network, which renders a State into the configuration of its agents (Next), applies it on the nodes, and compares the reports of agents
// (Progress, Findings). See docs/mtu-migration.md.
//
// It is pure, except Publish and Withdraw, which write the progress for the pipeline.
package mtumigration

import (
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
	"github.com/cluster-network-operator/cno/internal/facts"
)

// State is the MTU in the configuration of a network's agents.
type State struct {
	// MTU is the MTU in bytes of interfaces: the longest packet that pods accept.
	MTU int `json:"mtu"`
	// Step counts the steps of all migrations, so that reports of another migration are not used; 0 while there is no migration.
	Step int `json:"step,omitempty"`
	// RoutableMTU is the longest packet in bytes that pods send, as the MTU of their routes; 0 means MTU.
	RoutableMTU int `json:"routableMTU,omitempty"`
}

// StateOf returns the state in the configuration of agents.
func StateOf(mtu int, m *agentfile.MTUMigration) State {
	s := State{MTU: mtu, RoutableMTU: m.Routable()}
	if m != nil {
		s.Step = m.Step
	}
	return s
}

// Migration is the step for the configuration of agents; nil while there is no migration. namespaces is where agents have the network namespaces of
// pods; empty for those that know the namespace of each pod.
func (s State) Migration(namespaces string) *agentfile.MTUMigration {
	if s.Step == 0 {
		return nil
	}
	return &agentfile.MTUMigration{Step: s.Step, RoutableMTU: s.RoutableMTU, PodNamespaces: namespaces}
}

// Change is an MTU migration, in bytes.
type Change struct {
	// From is the old MTU of pods, To the new one.
	From int `json:"from"`
	To   int `json:"to"`
	// Announced is true while the specification requests it; otherwise it is being rolled back, or completed.
	Announced bool `json:"announced"`
}

// Announced returns the MTU migration that a specification requests; nil if there is none.
func Announced(spec *operatorv1.NetworkSpec) *osv1.MTUMigrationValues {
	if spec == nil || spec.Migration == nil || spec.Migration.MTU == nil || spec.Migration.MTU.Network == nil {
		return nil
	}
	if n := spec.Migration.MTU.Network; n.From != nil && n.To != nil {
		return n
	}
	return nil
}

// Filled returns the MTU of a filled specification that requests a migration: the old one until all nodes have the new one,
// and the new one from then on. When the request is removed, the current one stays.
func Filled(m osv1.MTUMigrationValues, before uint32, progress facts.MTUMigration) uint32 {
	if progress.Reached(int(*m.To)) {
		return *m.To
	}
	return before
}

// Next returns the next state for the agents' configuration, and the current migration; nil if there is none. current is nil if the network
// is not in use yet. configured is the MTU of the filled specification, in bytes.
//
// At any time, nodes differ by at most one step. There are two kinds of steps: steady ones, in which interfaces have one
// MTU and packets use it, and intermediate ones between two steady ones, in which interfaces accept the larger packets and
// send the smaller ones. Nodes in an intermediate step can communicate with nodes in both steady ones. So between two
// steady steps there is always an intermediate one, which all nodes must have reported, also during a rollback.
func Next(current *State, configured int, announced *osv1.MTUMigrationValues, progress facts.MTUMigration) (State, *Change) {
	target := configured
	if announced != nil {
		target = int(*announced.To)
	}
	if current == nil || current.Step == 0 && (announced == nil || current.MTU == target) {
		return State{MTU: configured}, nil // the network is not in use yet, or there is no migration
	}
	now := *current
	reported := progress.Done && progress.Step == now.Step && progress.MTU == now.MTU && progress.RoutableMTU == now.RoutableMTU
	next, change := now, &Change{From: now.MTU, To: target, Announced: announced != nil}
	switch {
	case now.RoutableMTU != 0:
		change.From = now.MTU + now.RoutableMTU - target
		if reported && (target == now.MTU || target == now.RoutableMTU) {
			next = State{MTU: target, Step: now.Step + 1}
		}
	case now.MTU != target:
		if reported || now.Step > 0 {
			next = State{MTU: max(now.MTU, target), RoutableMTU: min(now.MTU, target), Step: now.Step + 1}
		}
	default:
		change.From = target
		if reported && announced == nil {
			return State{MTU: now.MTU}, nil
		}
	}
	return next, change
}
