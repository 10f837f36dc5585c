package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// daemonSet is one with an image and a strategy.
func daemonSet(image string, strategy map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": map[string]any{"name": "agent", "namespace": "ns", "generation": int64(3)},
		"spec": map[string]any{
			"updateStrategy": strategy,
			"template":       map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}}},
		},
	}}
}

func tenPercent() map[string]any {
	return map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": "10%"}}
}

func atMost(n int64) map[string]any {
	return map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": n}}
}

// live is the DaemonSet in the cluster, with the counts of its pods.
func live(image string, desired, updated, available int64) *unstructured.Unstructured {
	o := daemonSet(image, tenPercent())
	o.Object["status"] = map[string]any{
		"observedGeneration": int64(3), "desiredNumberScheduled": desired, "updatedNumberScheduled": updated, "numberAvailable": available,
	}
	return o
}

// pods are some of the old form, all ready, and some of the new one that have been ready for a time, or are not.
func pods(old int, ready []time.Duration, broken int) []Pod {
	var all []Pod
	for range old {
		all = append(all, Pod{Ready: true})
	}
	for _, d := range ready {
		all = append(all, Pod{Current: true, Ready: true, Since: noon.Add(-d)})
	}
	for range broken {
		all = append(all, Pod{Current: true})
	}
	return all
}

func TestRolloutAdvancesInSteps(t *testing.T) {
	long := 2 * Settle
	for _, tc := range []struct {
		why   string
		look  Observation
		want  map[string]any
		again time.Duration
	}{
		{"it is new", Observation{}, tenPercent(), 0},
		{"its pods are to change: one node first", Observation{Live: live("v1", 100, 100, 100), Pods: pods(100, nil, 0)}, atMost(1), 0},
		{"unreachable nodes do not delay the rollout", Observation{Live: live("v1", 100, 100, 97), Pods: pods(97, nil, 0), Unreachable: 3}, atMost(4), 0},
		{"the first pod is starting", Observation{Live: live("v2", 100, 1, 99), Pods: pods(99, nil, 1)}, atMost(1), 0},
		{"the first pods have just become ready", Observation{Live: live("v2", 100, 2, 100), Pods: pods(98, []time.Duration{4 * time.Second, time.Second}, 0)}, atMost(1), 6 * time.Second},
		{"one works, the other crashes", Observation{Live: live("v2", 100, 2, 99), Pods: pods(98, []time.Duration{long}, 1)}, atMost(1), 0},
		{"both have worked for a while: many at once", Observation{Live: live("v2", 100, 2, 100), Pods: pods(98, []time.Duration{long, long}, 0)}, tenPercent(), 0},
		{"many at once, in addition to the unreachable nodes", Observation{Live: live("v2", 100, 2, 95), Pods: pods(98, []time.Duration{long, long}, 0), Unreachable: 5}, atMost(15), 0},
		{"a cluster of one node", Observation{Live: live("v2", 1, 1, 1), Pods: pods(0, []time.Duration{0}, 0)}, tenPercent(), 0},
		{"it is stalled on pods of the new revision: it stops", Observation{Live: live("v2", 100, 12, 90), Pods: pods(88, []time.Duration{long, long}, 10), Stalled: true}, map[string]any{"type": "OnDelete"}, 0},
		{"it is stalled on pods of the old revision: continuing may resolve it", Observation{Live: live("v2", 100, 2, 90), Pods: pods(98, []time.Duration{long, long}, 0), Stalled: true}, tenPercent(), 0},
		{"it stalled, and there is a new revision", Observation{Live: live("v1", 100, 12, 90), Pods: pods(88, nil, 12), Stalled: true}, atMost(1), 0},
		{"it is done", Observation{Live: live("v2", 3, 3, 3), Pods: pods(0, []time.Duration{0, 0, 0}, 0)}, tenPercent(), 0},
		{"it is done except for an unreachable node", Observation{Live: live("v2", 3, 2, 2), Pods: pods(1, []time.Duration{0, 0}, 0), Unreachable: 1}, tenPercent(), 0},
	} {
		t.Run(tc.why, func(t *testing.T) {
			tc.look.Wanted, tc.look.Now = manifest.Object{Object: daemonSet("v2", tenPercent())}, noon
			o, again := Gate(tc.look)
			got, _, _ := unstructured.NestedMap(o.Object.Object, "spec", "updateStrategy")
			if d := cmp.Diff(tc.want, got); d != "" || again != tc.again {
				t.Errorf("%s again after %s, want %s", d, again, tc.again)
			}
		})
	}
}

func TestExplicitStrategiesAreKept(t *testing.T) {
	for why, o := range map[string]*unstructured.Unstructured{
		"surge":     daemonSet("v2", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1)}}),
		"on delete": daemonSet("v2", map[string]any{"type": "OnDelete"}),
	} {
		got, _ := Gate(Observation{Wanted: manifest.Object{Object: o}, Live: live("v1", 3, 3, 3), Now: noon})
		if got.Object != o {
			t.Errorf("%s: %v", why, got.Object)
		}
	}
}

func TestGateDoesNotChangeItsInput(t *testing.T) {
	o := daemonSet("v2", tenPercent())
	before := o.DeepCopy()
	Gate(Observation{Wanted: manifest.Object{Object: o}, Live: live("v1", 9, 9, 9), Now: noon})
	if d := cmp.Diff(before, o); d != "" {
		t.Error(d)
	}
}
