package connectivity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cluster returns a topology with a number of nodes, the first of which have sources.
func cluster(nodes, sources int) Topology {
	w := Topology{Nodes: map[string]string{}, Targets: []Target{
		{Name: "kubernetes-default-service-cluster-0", Endpoint: "10.96.0.1:443"},
		{Name: "network-check-target-service-cluster", Endpoint: "10.96.0.9:80"},
	}}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		w.Nodes[name] = "uid-" + name
		w.Targets = append(w.Targets, Target{Node: name, Endpoint: fmt.Sprintf("10.128.%d.%d:8080", i/250, i%250)})
		if i < sources {
			w.Sources = append(w.Sources, Source{Node: name, Pod: "source-" + name, Ready: true})
		}
	}
	return w
}

// planned is the plan by name.
func planned(w Topology) map[string]Check {
	all := map[string]Check{}
	for _, c := range Plan(w) {
		all[c.Name] = c
	}
	return all
}

func TestChecksGrowWithNodesAndNotWithPairsOfThem(t *testing.T) {
	for _, tc := range []struct{ nodes, sources, checks, most int }{
		// nodes, sources, checks in all, checks of nodes that one source has at most
		{1, 1, 1 + 2, 1}, // there is nowhere else to check from
		{2, 2, 2 + 2*2, 1},
		{3, 3, 3*2 + 3*2, 2},
		{100, 3, 100*2 + 3*2, 100},
		{500, 3, 500*2 + 3*2, 500},
		{5000, 20, 5000*2 + 20*2, 600},
		{10000, 40, 10000*2 + 40*2, 600},
	} {
		if got := Sources(tc.nodes); got != tc.sources {
			t.Errorf("%d nodes have %d sources, want %d", tc.nodes, got, tc.sources)
		}
		plan := Plan(cluster(tc.nodes, tc.sources))
		if len(plan) != tc.checks {
			t.Errorf("%d nodes have %d checks, want %d", tc.nodes, len(plan), tc.checks)
		}
		each := map[string]int{}
		for _, c := range plan {
			if c.Target.Node != "" {
				each[c.SourcePod]++
			}
		}
		if most := slices.Max(slices.Collect(maps.Values(each))); most > tc.most {
			t.Errorf("with %d nodes, a source has %d of them to check, want at most %d", tc.nodes, most, tc.most)
		}
	}
}

func TestEveryNodeIsCheckedFromTwoOthers(t *testing.T) {
	from := map[string][]string{}
	for _, c := range Plan(cluster(40, 4)) {
		if c.Target.Node == "" {
			continue
		}
		if c.SourceNode == c.Target.Node {
			t.Errorf("%s is checked from itself", c.Target.Node)
		}
		from[c.Target.Node] = append(from[c.Target.Node], c.SourceNode)
	}
	for node, sources := range from {
		if slices.Sort(sources); len(slices.Compact(sources)) != SourcesPerNode {
			t.Errorf("%s is checked from %v", node, sources)
		}
	}
	if len(from) != 40 {
		t.Errorf("%d nodes are checked", len(from))
	}
}

func TestThePlanDoesNotDependOnTheOrder(t *testing.T) {
	w := cluster(30, 5)
	want := Plan(w)
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		random.Shuffle(len(w.Sources), func(i, j int) { w.Sources[i], w.Sources[j] = w.Sources[j], w.Sources[i] })
		random.Shuffle(len(w.Targets), func(i, j int) { w.Targets[i], w.Targets[j] = w.Targets[j], w.Targets[i] })
		if diff := cmp.Diff(want, Plan(w)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestAddedOrRemovedNodeChangesOnlyItsChecks(t *testing.T) {
	small, large := planned(cluster(200, 5)), planned(cluster(201, 5))
	for name, c := range large {
		if before, had := small[name]; c.Target.Node == "node-200" {
			continue
		} else if !had || before != c {
			t.Errorf("%s changed", name)
		}
	}
	if len(large)-len(small) != SourcesPerNode {
		t.Errorf("one node is %d checks", len(large)-len(small))
	}
}

func TestRemovedSourceRemovesOnlyItsChecks(t *testing.T) {
	w := cluster(200, 5)
	before := planned(w)
	gone := w.Sources[2].Node
	w.Sources = slices.Delete(w.Sources, 2, 3)
	after := planned(w)
	for name, c := range before {
		if _, still := after[name]; still == (c.SourceNode == gone) {
			t.Errorf("%s: still there is %v", name, still)
		}
	}
	for name, c := range after {
		if _, had := before[name]; !had && c.Target.Node == "" {
			t.Errorf("%s is new", name)
		}
	}
}

func TestTargetsWithoutANodeAreNotPlanned(t *testing.T) {
	w := cluster(3, 3)
	delete(w.Nodes, "node-1")
	for name, c := range planned(w) {
		if c.SourceNode == "node-1" || c.Target.Node == "node-1" {
			t.Errorf("%s is of a deleted node", name)
		}
	}
}

func TestWorkingSourceOfANodeIsPreferred(t *testing.T) {
	w := cluster(3, 3)
	w.Sources = append(w.Sources, Source{Node: "node-0", Pod: "a-new-one"})
	for _, c := range Plan(w) {
		if c.SourcePod == "a-new-one" {
			t.Errorf("%s is given to a pod that does not work yet", c.Name)
		}
	}
}

func TestChecksHaveTheNamesOfOpenShift(t *testing.T) {
	w := Topology{Nodes: map[string]string{"worker-0.example.com": "1", "10.0.0.7": "2"},
		Sources: []Source{{Node: "worker-0.example.com", Pod: "p"}},
		Targets: []Target{{Node: "10.0.0.7", Endpoint: "10.1.1.1:8080"}, {Name: "load-balancer-api-external", Endpoint: "api.example.com:6443"}}}
	var names []string
	for _, c := range Plan(w) {
		names = append(names, c.Name)
	}
	want := []string{"network-check-source-worker-0-to-load-balancer-api-external", "network-check-source-worker-0-to-network-check-target-10-0-0-7"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkPlanOf5000Nodes(b *testing.B) {
	w := cluster(5000, Sources(5000))
	for b.Loop() {
		Plan(w)
	}
}
