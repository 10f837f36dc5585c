// Package plan computes the ordered actions that bring up a lab or a part of it.
// Plans are values; package lab executes them.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/e2e/lab/config"
	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// Verb is the kind of an action.
type Verb string

const (
	// CreateUnderlay starts the network between the nodes, and the further links.
	CreateUnderlay Verb = "create the underlay"
	// CreateNode starts a node: its namespaces, its disk, its cable.
	CreateNode Verb = "create the node"
	// Start starts a unit of a node.
	Start Verb = "start"
	// LoadImages imports missing ones of the images that every node gets into a
	// node: all of them were on its disk before it started for the first time.
	LoadImages Verb = "load images"
	// AwaitAPI waits until a node's API server is ready.
	AwaitAPI Verb = "await the API server"
	// AwaitCluster waits until the API server is ready at the address for clients
	// outside the lab, including its default RBAC roles.
	AwaitCluster Verb = "await the cluster"
	// ApplyAddons creates the objects every cluster has: its name server and
	// the roles of its programs.
	ApplyAddons Verb = "apply add-ons"
	// ApplyOpenShift creates OpenShift's CRDs and the objects that its
	// installer creates.
	ApplyOpenShift Verb = "apply OpenShift's kinds and objects"
	// AwaitAccounts waits for the default service account, without which the API server refuses pods.
	AwaitAccounts Verb = "await the service accounts"
	// AwaitNode waits until a node has registered itself and labels it.
	AwaitNode Verb = "await the registration"
)

// Action is one action of a plan.
type Action struct {
	Verb Verb
	// Node is empty for actions on the whole lab, Unit for all but Start.
	Node, Unit string
}

func (a Action) String() string {
	switch {
	case a.Node == "":
		return string(a.Verb)
	case a.Unit == "":
		return fmt.Sprintf("%s of %s", a.Verb, a.Node)
	default:
		return fmt.Sprintf("%s %s of %s", a.Verb, a.Unit, a.Node)
	}
}

// Stage is a list of independent actions.
type Stage []Action

// String returns the distinct actions without their nodes.
func (s Stage) String() string {
	var parts []string
	for _, a := range s {
		a.Node = ""
		if part := strings.TrimSpace(string(a.Verb) + " " + a.Unit); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// Plan is a list of stages that are executed in order.
type Plan []Stage

// Up returns the plan that brings up a whole lab.
func Up(t topology.Topology) Plan {
	addons := Stage{{Verb: ApplyAddons}}
	if t.OpenShift {
		addons = append(addons, Action{Verb: ApplyOpenShift})
	}
	return Plan{
		{{Verb: CreateUnderlay}},
		forNodes(t.Machines(), Action{Verb: CreateNode}),
		slices.Concat(start(t, t.ControlPlanes(), config.Etcd), start(t, t.Nodes, config.Containerd), start(t, t.OutsideHosts(), config.Dnsmasq)),
		start(t, t.ControlPlanes(), config.APIServer),
		// Images are imported while the API server starts: both take seconds.
		append(forNodes(t.ControlPlanes(), Action{Verb: AwaitAPI}), forNodes(t.Nodes, Action{Verb: LoadImages})...),
		{{Verb: AwaitCluster}},
		append(startAllBut(t, t.Nodes, config.Etcd, config.APIServer, config.Containerd), addons...),
		append(forNodes(t.Nodes, Action{Verb: AwaitNode}), Action{Verb: AwaitAccounts}),
	}
}

// Node brings one node of a lab that is up into being, or a node or host outside back after it was
// powered off.
func Node(t topology.Topology, n topology.Node) Plan {
	one := []topology.Node{n}
	if n.Role == topology.Outside {
		plan := Plan{forNodes(one, Action{Verb: CreateNode})}
		if units := start(t, one, config.Dnsmasq); len(units) > 0 {
			plan = append(plan, units)
		}
		return plan
	}
	plan := Plan{forNodes(one, Action{Verb: CreateNode}), start(t, one, config.Containerd)}
	if n.Role == topology.ControlPlane {
		plan = append(plan, start(t, one, config.Etcd), start(t, one, config.APIServer), forNodes(one, Action{Verb: AwaitAPI}))
	}
	return append(plan,
		forNodes(one, Action{Verb: LoadImages}),
		startAllBut(t, one, config.Etcd, config.APIServer, config.Containerd),
		forNodes(one, Action{Verb: AwaitNode}),
	)
}

func forNodes(nodes []topology.Node, a Action) Stage {
	var s Stage
	for _, n := range nodes {
		a.Node = n.Name
		s = append(s, a)
	}
	return s
}

func start(t topology.Topology, nodes []topology.Node, unit string) Stage {
	return startWhere(t, nodes, func(u supervisor.Unit) bool { return u.Name == unit })
}

func startAllBut(t topology.Topology, nodes []topology.Node, units ...string) Stage {
	return startWhere(t, nodes, func(u supervisor.Unit) bool { return !slices.Contains(units, u.Name) })
}

func startWhere(t topology.Topology, nodes []topology.Node, want func(supervisor.Unit) bool) Stage {
	var s Stage
	for _, n := range nodes {
		for _, u := range config.Units(t, n) {
			if want(u) {
				s = append(s, Action{Verb: Start, Node: n.Name, Unit: u.Name})
			}
		}
	}
	return s
}
