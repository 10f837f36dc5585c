// Package rollout paces changes on the nodes: in steps, each of which has to be healthy before the next, and one kind of
// change at a time. It is pure; its state is in the objects, so that it continues after a restart.
package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

const (
	// Canaries is the number of nodes on which a new revision of a DaemonSet has to work before it is rolled out in larger
	// steps.
	Canaries = 2
	// Settle is how long it has to work there. It is longer than a process takes that starts, finds its configuration
	// invalid, and exits.
	Settle = 10 * time.Second
)

// Pod is the observed state of a pod of a DaemonSet.
type Pod struct {
	// Current is true if the pod is of the DaemonSet's current revision.
	Current bool
	Ready   bool
	// Since is the time of the last transition of Ready.
	Since time.Time
}

// Observation is the observed state of a desired DaemonSet.
type Observation struct {
	// Wanted is the rendered object, Live the existing one; nil if it does not exist.
	Wanted manifest.Object
	Live   *unstructured.Unstructured
	Pods   []Pod
	// Unreachable is the number of nodes whose kubelet does not report. Their unavailable pods do not block the rollout.
	Unreachable int
	// Stalled is true if the rollout has made no progress for too long.
	Stalled bool
	Now     time.Time
}

// Gate returns a DaemonSet with the update strategy for the current step of its rollout: one node at a time until the new
// revision works on Canaries nodes, then the rendered maxUnavailable; no update while the rollout is stalled by pods of the
// new revision. again is the duration after which the result may change without an event; 0 means never. Other objects, and
// DaemonSets with another strategy, are returned unchanged.
func Gate(l Observation) (o manifest.Object, again time.Duration) {
	if l.Live == nil || l.Wanted.Object.GetKind() != "DaemonSet" || !rolling(l.Wanted.Object) {
		return l.Wanted, 0
	}
	switch {
	case len(differences(l)) > 0:
		return atOnce(l, 1), 0 // an earlier revision stalled
	case finished(l):
		return l.Wanted, 0
	case l.Stalled && broken(l.Pods):
		return onDelete(l.Wanted), 0
	}
	working, next := l.working()
	if working < min(Canaries, len(l.Pods)) {
		return atOnce(l, 1), next
	}
	if l.Unreachable == 0 {
		return l.Wanted, 0
	}
	return atOnce(l, max(1, rendered(l))), 0
}

// differences returns the differences of the pod templates.
func differences(l Observation) []string {
	return plan.Differences(template(l.Wanted.Object), template(l.Live))
}

// template returns an object with only the pod template of another one.
func template(o *unstructured.Unstructured) *unstructured.Unstructured {
	t, _, _ := unstructured.NestedMap(o.Object, "spec", "template")
	out := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": t}}}
	out.SetGroupVersionKind(o.GroupVersionKind())
	return out
}

// finished reports whether every pod on a reachable node is of the current revision and available.
func finished(l Observation) bool {
	desired, updated, available := count(l.Live, "desiredNumberScheduled"), count(l.Live, "updatedNumberScheduled"), count(l.Live, "numberAvailable")
	return count(l.Live, "observedGeneration") >= l.Live.GetGeneration() && updated >= desired-int64(l.Unreachable) && available >= desired-int64(l.Unreachable)
}

// broken reports whether a pod of the current revision is not ready.
func broken(pods []Pod) bool {
	for _, p := range pods {
		if p.Current && !p.Ready {
			return true
		}
	}
	return false
}

// working returns the number of pods of the current revision that have been ready for long enough, and the duration after
// which there will be one more.
func (l Observation) working() (n int, next time.Duration) {
	for _, p := range l.Pods {
		if !p.Current || !p.Ready {
			continue
		}
		left := Settle - l.Now.Sub(p.Since)
		if left <= 0 {
			n++
		} else if next == 0 || left < next {
			next = left
		}
	}
	return n, next
}

// rolling reports whether a DaemonSet has the strategy RollingUpdate.
func rolling(o *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "updateStrategy", "type")
	_, surge, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "updateStrategy", "rollingUpdate", "maxSurge")
	return kind == "RollingUpdate" && !surge
}

// atOnce sets maxUnavailable to n in addition to the unreachable nodes, which Kubernetes counts as unavailable.
func atOnce(l Observation, n int) manifest.Object {
	return withStrategy(l.Wanted, map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": int64(n + l.Unreachable)}})
}

func onDelete(o manifest.Object) manifest.Object {
	return withStrategy(o, map[string]any{"type": "OnDelete"})
}

func withStrategy(o manifest.Object, strategy map[string]any) manifest.Object {
	changed := o.Object.DeepCopy()
	spec, ok := changed.Object["spec"].(map[string]any)
	if !ok {
		return o
	}
	spec["updateStrategy"] = strategy
	return manifest.Object{Object: changed, Policy: o.Policy}
}

// rendered returns the rendered maxUnavailable as a number of nodes.
func rendered(l Observation) int {
	value, _, _ := unstructured.NestedFieldNoCopy(l.Wanted.Object.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
	return share(value, len(l.Pods))
}

func count(o *unstructured.Unstructured, field string) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "status", field)
	return n
}

// Healthy reports whether a workload is available in its current revision on all reachable nodes.
func Healthy(live *unstructured.Unstructured, unreachable int) bool {
	if live.GetKind() == "DaemonSet" {
		return finished(Observation{Live: live, Unreachable: unreachable})
	}
	done, _ := plan.RolledOut(live)
	return done
}
