package connectivity

import (
	"cmp"
	"slices"
)

// Source is a source pod.
type Source struct {
	Node, Pod string
	// Ready is true if the pod is running and has recently reached the API server.
	Ready bool
}

// Target is a target of checks.
type Target struct {
	// Name is the part of the name of a check after "-to-".
	Name string
	// Endpoint is host:port.
	Endpoint string
	// Node is the node of the target; empty for other targets.
	Node string
}

// Check is a pair of source and target.
type Check struct {
	// Name is the name of the object.
	Name string
	// SourceNode is the node that owns the check, NodeUID its UID.
	SourceNode, NodeUID string
	SourcePod           string
	Target              Target
}

// Topology is the input of Plan.
type Topology struct {
	// Nodes maps the names of all nodes to their UIDs. Sources and targets on other nodes are ignored.
	Nodes   map[string]string
	Sources []Source
	Targets []Target
}

// Plan returns the checks for a topology, ordered by name. The result does not depend on the order of the input. Adding or removing a node
// or source changes only the checks that it takes part in and those that replace them.
func Plan(w Topology) []Check {
	all := make([]string, 0, len(w.Nodes))
	for n := range w.Nodes {
		all = append(all, n)
	}
	names := NewNames(all)
	sources := onePerNode(w)
	targets := distinct(w.Targets)
	checks := make([]Check, 0, SourcesPerNode*len(targets))
	var best []weighed
	for _, t := range targets {
		if t.Node != "" {
			if _, exists := w.Nodes[t.Node]; !exists {
				continue
			}
			t.Name = TargetName + "-" + names.Of(t.Node)
			best = choose(best[:0], sources, t.Node)
			for _, s := range best {
				checks = append(checks, check(w, names, s.Source, t))
			}
			continue
		}
		for _, s := range sources {
			checks = append(checks, check(w, names, s, t))
		}
	}
	slices.SortFunc(checks, func(a, b Check) int { return cmp.Compare(a.Name, b.Name) })
	return checks
}

func check(w Topology, names Names, s Source, t Target) Check {
	return Check{Name: names.Check(s.Node, t.Name), SourceNode: s.Node, NodeUID: w.Nodes[s.Node], SourcePod: s.Pod, Target: t}
}

// onePerNode returns at most one source per existing node. While a source is replaced there are two, and the ready one is chosen.
func onePerNode(w Topology) []Source {
	sources := slices.Clone(w.Sources)
	slices.SortFunc(sources, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), -compareBool(a.Ready, b.Ready), cmp.Compare(a.Pod, b.Pod))
	})
	sources = slices.CompactFunc(sources, func(a, b Source) bool { return a.Node == b.Node })
	return slices.DeleteFunc(sources, func(s Source) bool { _, exists := w.Nodes[s.Node]; return !exists })
}

// distinct returns the targets ordered by node and name, without duplicates. Of two with one name, the first endpoint counts.
func distinct(targets []Target) []Target {
	targets = slices.Clone(targets)
	slices.SortFunc(targets, func(a, b Target) int {
		if a.Node != "" || b.Node != "" {
			return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Endpoint, b.Endpoint))
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return slices.CompactFunc(targets, func(a, b Target) bool { return a.Node == b.Node && (a.Node != "" || a.Name == b.Name) })
}

// weighed is a source with its weight for a node.
type weighed struct {
	Source
	weight uint64
}

// choose appends to best, which is empty, the sources with the greatest weight for a node. The node's own source is only used if there is
// no other. The weight depends on source and node alone (rendezvous hashing), so that the removal of a source affects only its own checks.
func choose(best []weighed, sources []Source, node string) []weighed {
	for _, s := range sources {
		if s.Node == node && len(sources) > 1 {
			continue
		}
		w := weighed{s, weight(s.Node, node)}
		at, _ := slices.BinarySearchFunc(best, w, func(a, b weighed) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Node, b.Node))
		})
		if at < SourcesPerNode {
			best = slices.Insert(best, at, w)
			best = best[:min(len(best), SourcesPerNode)]
		}
	}
	return best
}

func weight(source, node string) uint64 {
	// FNV-1a as in hash/fnv, without a copy of the names. It mixes the last bytes poorly, so it is followed by the
	// finalizer of MurmurHash3.
	x := uint64(14695981039346656037)
	for _, part := range [...]string{source, "\x00", node} {
		for i := range len(part) {
			x = (x ^ uint64(part[i])) * 1099511628211
		}
	}
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
