package connectivitycheck

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/status"
)

func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	plan := []connectivity.Check{
		{Name: "network-check-source-a-to-x", SourceNode: "a", NodeUID: "1", SourcePod: "p", Target: connectivity.Target{Name: "x", Endpoint: "10.1.1.1:80"}},
		{Name: "network-check-source-a-to-y", SourceNode: "a", NodeUID: "1", SourcePod: "p", Target: connectivity.Target{Name: "y", Endpoint: "10.1.1.2:80"}},
	}
	live := func(change ...func(*check)) map[string]*check {
		all := map[string]*check{}
		for i := range plan {
			c := object(&plan[i])
			for _, f := range change {
				f(c)
			}
			kept, err := trim(c)
			if err != nil {
				t.Fatal(err)
			}
			all[c.Name] = kept.(*check)
		}
		return all
	}
	deleted := metav1.Now()
	for _, tc := range []struct {
		why     string
		live    map[string]*check
		plan    []connectivity.Check
		desired int
	}{
		{"nothing exists", nil, plan, 2},
		{"all is as planned", live(), plan, 0},
		{"a source was replaced", live(func(c *check) { c.Spec.SourcePod = "former" }), plan, 2},
		{"a target moved", live(func(c *check) { c.Spec.TargetEndpoint = "10.9.9.9:80" }), plan, 2},
		{"a label that the source selects is missing", live(func(c *check) { c.Labels = nil }), plan, 2},
		{"the node is another one of the same name", live(func(c *check) { c.OwnerReferences[0].UID = types.UID("2") }), plan, 2},
		{"an additional label is not changed", live(func(c *check) { c.Labels["team"] = "x" }), plan, 0},
		{"one is not wanted", live(), plan[:1], 1},
		{"nothing is wanted, and all is going already", live(func(c *check) { c.DeletionTimestamp = &deleted }), nil, 0},
		{"a check that is being deleted is recreated afterwards", live(func(c *check) { c.DeletionTimestamp, c.Labels = &deleted, nil }), plan, 0},
	} {
		if got := changes(tc.plan, tc.live); len(got) != tc.desired {
			t.Errorf("%s: %d writes, want %d", tc.why, len(got), tc.desired)
		}
	}
}

func TestFirstProblemsAreNamedAndOthersCounted(t *testing.T) {
	var v connectivity.Summary
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		v.Nodes = append(v.Nodes, connectivity.Problem{Target: connectivity.Target{Node: n}, From: []string{"x", "y"}, Since: since, Message: "timeout"})
	}
	v.Sources = []connectivity.Problem{{From: []string{"a"}, Since: since, Message: "timeout"}, {From: []string{"z"}, Since: since, Message: "timeout"}}
	v.Targets = []connectivity.Problem{{Target: connectivity.Target{Name: "load-balancer-api-external", Endpoint: "api:6443"}, From: []string{"k", "l", "m", "n"}, Since: since, Message: "refused"}}
	found := findings(v, map[string]bool{"b": true})
	var got []string
	for _, f := range found {
		if f.Component != "NetworkDiagnostics" || f.Effect != status.Degraded || f.Aside != (f.Reason != "NodeUnreachable" || f.Message[5:6] == "b") {
			t.Errorf("%+v", f)
		}
		got = append(got, f.Message)
	}
	desired := []string{
		"Node a cannot be reached from pods on x and y since 2026-01-02T03:04:05Z: timeout",
		"Node c cannot be reached from pods on x and y since 2026-01-02T03:04:05Z: timeout",
		"Node d cannot be reached from pods on x and y since 2026-01-02T03:04:05Z: timeout",
		"Node e cannot be reached from pods on x and y since 2026-01-02T03:04:05Z: timeout",
		"Node f cannot be reached from pods on x and y since 2026-01-02T03:04:05Z: timeout",
		"1 more nodes cannot be reached",
		"Node b, whose kubelet does not respond either, cannot be reached from pods on x and y since 2026-01-02T03:04:05Z: timeout",
		"load-balancer-api-external (api:6443) cannot be reached from pods on k, l, m and 1 more since 2026-01-02T03:04:05Z: refused",
		// That of node a is reported already: no source reaches it either.
		"Pods on node z reach none of the other nodes that are checked from there since 2026-01-02T03:04:05Z: timeout",
	}
	if diff := cmp.Diff(desired, got); diff != "" {
		t.Error(diff)
	}
}
