package connectivity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestANodeIsUnreachableWhenAllSourcesAgreeForLongEnough(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	// result is the result of a source for a node. failing is the duration of the failure; 0 means reachable.
	result := func(source, node string, failing time.Duration) Result {
		return Result{Check: Check{Name: source + node, SourceNode: source, SourcePod: "pod-" + source, Target: Target{Node: node, Endpoint: node + ":8080"}},
			Known: true, Reachable: failing == 0, Since: now.Add(-failing), Message: "timeout"}
	}
	unknown := func(source, node string) Result { r := result(source, node, time.Hour); r.Known = false; return r }
	everyone := map[string]bool{"pod-a": true, "pod-b": true, "pod-c": true}
	const long = 10 * time.Minute
	for _, tc := range []struct {
		why          string
		results      []Result
		ready        map[string]bool
		nodes        []string
		sources      []string
		requeueAfter time.Duration
	}{
		{"all reachable", []Result{result("a", "x", 0), result("b", "x", 0)}, everyone, nil, nil, 0},
		{"both agree", []Result{result("a", "x", long), result("b", "x", AgreedDelay)}, everyone, []string{"x"}, nil, 0},
		{"but not for long enough", []Result{result("a", "x", long), result("b", "x", AgreedDelay-time.Second)}, everyone, nil, nil, time.Second},
		{"one reaches it", []Result{result("a", "x", long), result("b", "x", 0)}, everyone, nil, nil, 0},
		{"one failing sample is no outage", []Result{result("a", "x", time.Second), result("b", "x", 0)}, everyone, nil, nil, 0},
		{"a source that is not ready does not count, so the delay is longer", []Result{result("a", "x", AgreedDelay), result("b", "x", 0)}, map[string]bool{"pod-a": true}, nil, nil, SingleSourceDelay - AgreedDelay},
		{"and counts in the end", []Result{result("a", "x", SingleSourceDelay), result("b", "x", 0)}, map[string]bool{"pod-a": true}, []string{"x"}, nil, 0},
		{"a source without a sample does not count", []Result{result("a", "x", AgreedDelay), unknown("b", "x")}, everyone, nil, nil, SingleSourceDelay - AgreedDelay},
		{"unknown", []Result{result("a", "x", long)}, nil, nil, nil, 0},
		{"a source that reaches nothing others reach is to blame itself",
			[]Result{result("a", "x", long), result("a", "y", long), result("b", "x", 0), result("c", "y", long)}, everyone, []string{"y"}, []string{"a"}, 0},
		{"it does not vouch for others from its first failure on",
			[]Result{result("a", "x", time.Second), result("a", "y", time.Second), result("b", "x", 0), result("c", "y", 0)}, everyone, nil, nil, AgreedDelay - time.Second},
		{"no node is reached by any source: the nodes are at fault", []Result{result("a", "x", long), result("a", "y", long), result("b", "x", long), result("b", "y", long)}, everyone, []string{"x", "y"}, nil, 0},
	} {
		v := Summarize(tc.results, tc.ready, now)
		var nodes, sources []string
		for _, n := range v.Nodes {
			nodes = append(nodes, n.Target.Node)
		}
		for _, s := range v.Sources {
			sources = append(sources, s.From...)
		}
		if diff := cmp.Diff([]any{tc.nodes, tc.sources, tc.requeueAfter}, []any{nodes, sources, v.RequeueAfter}); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
	}
}

func TestAProblemHasItsSourcesAndStartTime(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	target := Target{Name: "kubernetes-apiserver-endpoint-cp-0", Endpoint: "192.0.2.1:6443"}
	of := func(node string, ago time.Duration) Result {
		return Result{Check: Check{Name: node, SourceNode: node, SourcePod: node, Target: target}, Known: true, Since: now.Add(-ago), Message: "refused by " + node}
	}
	v := Summarize([]Result{of("b", 4*time.Minute), of("a", 3*time.Minute)}, map[string]bool{"a": true, "b": true}, now)
	want := []Problem{{Target: target, From: []string{"a", "b"}, Since: now.Add(-3 * time.Minute), Message: "refused by a"}}
	if diff := cmp.Diff(want, v.Targets); diff != "" {
		t.Error(diff)
	}
}
