package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/e2e/lab/config"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// Target is the part of the lab that a command operates on: whole nodes, or one
// unit of each of them.
type Target struct {
	Nodes []topology.Node
	// Unit is empty for whole nodes.
	Unit string
}

// ParseTarget parses NODE, NODE/UNIT, or UNIT, which means that unit on every node
// that runs it. NODE may also be an outside host.
func ParseTarget(t topology.Topology, s string) (Target, error) {
	if name, unit, ok := strings.Cut(s, "/"); ok {
		n, err := t.Machine(name)
		if err != nil {
			return Target{}, err
		}
		_, err = config.Unit(t, n, unit)
		return Target{Nodes: []topology.Node{n}, Unit: unit}, err
	}
	if n, err := t.Machine(s); err == nil {
		return Target{Nodes: []topology.Node{n}}, nil
	}
	target := Target{Unit: s}
	var units []string
	for _, n := range t.Machines() {
		for _, u := range config.Units(t, n) {
			if u.Name == s {
				target.Nodes = append(target.Nodes, n)
			}
			if !slices.Contains(units, u.Name) {
				units = append(units, u.Name)
			}
		}
	}
	if len(target.Nodes) == 0 {
		return Target{}, fmt.Errorf("%q is neither a node (%s) nor a component (%s) nor NODE/COMPONENT",
			s, strings.Join(topology.Topology{Nodes: t.Machines()}.Names(), ", "), strings.Join(units, ", "))
	}
	return target, nil
}
