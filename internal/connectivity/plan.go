package connectivity

import (
	"cmp"
	"slices"
)

// Source is a pod that checks.
type Source struct {
	Node, Pod string
	// Ready is true if the pod works: it runs, and has reached the API server lately.
	Ready bool
}

// Target is what sources connect to.
type Target struct {
	// Name is the part of the name of a check after "-to-".
	Name string
	// Endpoint is host:port.
	Endpoint string
	// Node is set for the target of a node.
	Node string
}

// Check is one source that checks one target.
type Check struct {
	// Name is that of the object.
	Name string
	// SourceNode, and NodeUID, which is its UID, own the check: it goes with the node.
	SourceNode, NodeUID string
	SourcePod           string
	Target              Target
}

// World is what checks are planned from.
type World struct {
	// Nodes maps the names of all nodes to their UIDs. Sources and targets of others are left out.
	Nodes   map[string]string
	Sources []Source
	Targets []Target
}

// Plan returns the checks for a world, ordered by name. It does not depend on the order of what it is given. A
// node or source that comes or goes changes the checks that it takes part in, those in whose place it is chosen, and no others.
func Plan(w World) []Check {
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

func check(w World, names Names, s Source, t Target) Check {
	return Check{Name: names.Check(s.Node, t.Name), SourceNode: s.Node, NodeUID: w.Nodes[s.Node], SourcePod: s.Pod, Target: t}
}

// onePerNode returns the sources on nodes that exist, at most one each: while a source is replaced, there are two, and the
// one that works counts.
func onePerNode(w World) []Source {
	sources := slices.Clone(w.Sources)
	slices.SortFunc(sources, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), -compareBool(a.Ready, b.Ready), cmp.Compare(a.Pod, b.Pod))
	})
	sources = slices.CompactFunc(sources, func(a, b Source) bool { return a.Node == b.Node })
	return slices.DeleteFunc(sources, func(s Source) bool { _, exists := w.Nodes[s.Node]; return !exists })
}

// distinct returns the targets ordered by node and name, each once. Of two with one name, the first endpoint counts.
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

// choose adds to best, which is empty, the sources that check a node: those that have the greatest weight for it, its own left
// out unless there is no other. A source's weight for a node depends on these two alone, which is why a source that goes
// takes only its own checks with it (rendezvous hashing).
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
	// FNV-1a, as hash/fnv has it, without a copy of the names. It spreads the last bytes little; what follows is the
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
