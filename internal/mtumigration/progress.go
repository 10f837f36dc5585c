package mtumigration

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/status"
)

// The reasons of findings about an MTU migration: one for each phase.
const (
	ReasonPreflight = "MTUMigrationPreflight"
	ReasonRouting   = "MTUMigrationRouting"
	ReasonFinishing = "MTUMigrationFinishing"
	ReasonFinished  = "MTUMigrationFinished"
)

// Node is a node of the cluster.
type Node struct {
	Ready bool
	// Report is the report of its agent; nil if there is none.
	Report *Report
}

// Report is the report of the agent of a node.
type Report struct {
	// Ready is true if it has applied its configuration to all pods.
	Ready bool
	// Step and MTU are those of the State in its configuration.
	Step, MTU int
}

// Progress compares the reports of agents with their configuration, and returns a sentence for each node that is not done.
// Nodes are by name.
func Progress(state State, nodes map[string]Node) (facts.MTUMigration, []string) {
	progress := facts.MTUMigration{Active: true, MTU: state.MTU, Step: state.Step, RoutableMTU: state.RoutableMTU}
	var waiting []string
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[name]
		switch r := n.Report; {
		case !n.Ready:
			waiting = append(waiting, fmt.Sprintf("node %s is not Ready", name))
		case r == nil:
			waiting = append(waiting, fmt.Sprintf("the agent of node %s does not report", name))
		case !r.Ready || r.Step != state.Step || r.MTU != state.MTU:
			waiting = append(waiting, fmt.Sprintf("node %s still has MTU %d", name, r.MTU))
		}
	}
	progress.Done = len(waiting) == 0 && len(nodes) > 0
	return progress, waiting
}

// Findings returns the phase of an MTU migration, its progress in percent, and the nodes that it waits for. component is the network's name in
// conditions, mtuField the path of the field that sets the MTU, nodes the number of nodes; waiting is the result of Progress.
func Findings(component, mtuField string, m Change, at facts.MTUMigration, nodes int, waiting []string) []status.Finding {
	finding := func(effect status.Effect, reason, message string) status.Finding {
		return status.Finding{Component: component, Effect: effect, Reason: reason, Message: message}
	}
	done := nodes - len(waiting)
	reason, phase, percent := ReasonPreflight, "Preflight: all nodes must be Ready and report", 0
	switch {
	case at.Step > 0 && at.RoutableMTU != 0:
		reason, percent = ReasonRouting, 10+40*done/max(nodes, 1)
		phase = fmt.Sprintf("Routing: node by node, interfaces take packets of %d bytes, and send at most %d", at.MTU, at.RoutableMTU)
	case at.Step > 0 && at.MTU == m.To:
		reason, percent = ReasonFinishing, 50+50*done/max(nodes, 1)
		phase = fmt.Sprintf("Finishing: node by node, interfaces get MTU %d", at.MTU)
	}
	what := fmt.Sprintf("The MTU of pods changes from %d to %d", m.From, m.To)
	switch {
	case m.Announced && at.Reached(m.To):
		return []status.Finding{finding(status.NotUpgradeable, ReasonFinished,
			fmt.Sprintf("The MTU of all pods is %d. Remove spec.migration; if %s is set, set it to %d or remove it, too", m.To, mtuField, m.To))}
	case !m.Announced:
		what = fmt.Sprintf("spec.migration was removed: the MTU of pods goes back to %d", m.To)
	}
	message := fmt.Sprintf("%s (%d %%). %s", what, percent, phase)
	if len(waiting) > 0 {
		message += fmt.Sprintf(". %d of %d nodes are done: %s", done, nodes, status.Sentence(waiting, ""))
	}
	return []status.Finding{finding(status.Progressing, reason, message), finding(status.NotUpgradeable, reason, message)}
}
