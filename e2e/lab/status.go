package lab

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/lab/cgroup"
	"github.com/cluster-network-operator/cno/e2e/lab/process"
	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
	"github.com/cluster-network-operator/cno/e2e/lab/underlay"
)

// NodeStatus is the observed state of a node.
type NodeStatus struct {
	topology.Node
	// PID is that of the node's first process in the machine's PID namespace, 0 if the node is off.
	PID int
	// Ready is the status of the Node object's condition: True, False or
	// Unknown; empty if there is no such object or the API server is unavailable.
	Ready string
	Units []UnitStatus
}

// UnitStatus is the state of a unit. HostPID is its process in the machine's PID namespace.
type UnitStatus struct {
	supervisor.Status
	HostPID int
}

// Status is the observed state of the lab.
type Status struct {
	// Underlay is the PID of the process of the underlay, 0 if it does not run.
	Underlay int
	// Nodes are the nodes of the cluster and the outside hosts.
	Nodes []NodeStatus
	// APIError is the error of the request to the API server, nil if it succeeded.
	APIError error
}

// Status returns the state of the lab. An unavailable API server is not an error
// of Status; see APIError.
func (l *Lab) Status(ctx context.Context) (Status, error) {
	var s Status
	if p, err := l.init(underlay.Name); err == nil {
		s.Underlay = p.PID
	}
	ready, err := l.ready(ctx)
	s.APIError = err
	for _, n := range l.record.Topology.Machines() {
		node := NodeStatus{Node: n, Ready: ready[n.Name]}
		if p, err := l.init(n.Name); err == nil {
			node.PID = p.PID
			if node.Units, err = l.units(ctx, n); err != nil {
				return s, err
			}
		}
		s.Nodes = append(s.Nodes, node)
	}
	return s, nil
}

func (l *Lab) units(ctx context.Context, n topology.Node) ([]UnitStatus, error) {
	list, err := l.supervisor(n.Name).Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", n.Name, err)
	}
	groups, err := cgroup.Mounted()
	if err != nil {
		return nil, err
	}
	pids, err := cgroup.Processes(l.branch(n.Name), groups)
	if err != nil {
		return nil, err
	}
	outer := process.Outer(pids)
	units := make([]UnitStatus, 0, len(list))
	for _, u := range list {
		units = append(units, UnitStatus{Status: u, HostPID: outer[u.PID]})
	}
	return units, nil
}

// ready returns the status of the condition Ready by node name.
func (l *Lab) ready(ctx context.Context) (map[string]string, error) {
	out, err := l.Kubectl(ctx, nil, "get", "nodes", "--output=json", "--request-timeout=3s")
	if err != nil {
		return nil, err
	}
	var list corev1.NodeList
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read the nodes: %w", err)
	}
	ready := map[string]string{}
	for _, n := range list.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				ready[n.Name] = string(c.Status)
			}
		}
	}
	return ready, nil
}
