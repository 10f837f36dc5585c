// Package rollout decides how a change goes round the nodes: in steps, each of which has to work before the next, and
// one kind of change at a time. It is pure; what it decides can be read off the objects again after a crash.
package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

const (
	// Canaries is on how many nodes a new form of a DaemonSet has to work before it goes to many at once.
	Canaries = 2
	// Settle is how long it has to work there. It is longer than a program takes that starts, finds its configuration
	// wrong, and ends.
	Settle = 10 * time.Second
)

// Pod is what the gate needs to know of a pod of a DaemonSet.
type Pod struct {
	// Current is true if the pod is of the DaemonSet's present form.
	Current bool
	Ready   bool
	// Since is when Ready got its present value.
	Since time.Time
}

// Look is what is known of a DaemonSet that is wanted.
type Look struct {
	// Wanted is the object as it was rendered, Live as it is in the cluster; nil if it is not there.
	Wanted manifest.Object
	Live   *unstructured.Unstructured
	Pods   []Pod
	// Gone is how many nodes have a kubelet that does not answer. Their pods are not available, and hold nothing up.
	Gone int
	// Hung is true if the rollout has made no progress for too long.
	Hung bool
	Now  time.Time
}

// Gate returns a DaemonSet with the update strategy that its rollout needs now: one node at a time until the new form
// has worked on some, then as many at once as was rendered; none while the rollout hangs on pods of the new form. again
// is after how long the answer may change by itself; 0 is never. What is no DaemonSet, or has another strategy of its
// own, is returned as it is.
func Gate(l Look) (o manifest.Object, again time.Duration) {
	if l.Live == nil || l.Wanted.Object.GetKind() != "DaemonSet" || !rolling(l.Wanted.Object) {
		return l.Wanted, 0
	}
	switch {
	case len(differences(l)) > 0:
		return atOnce(l, 1), 0 // what hung before had another form
	case finished(l):
		return l.Wanted, 0
	case l.Hung && broken(l.Pods):
		return onDelete(l.Wanted), 0
	}
	working, next := l.working()
	if working < min(Canaries, len(l.Pods)) {
		return atOnce(l, 1), next
	}
	if l.Gone == 0 {
		return l.Wanted, 0
	}
	return atOnce(l, max(1, rendered(l))), 0
}

// differences are those of the pods' template.
func differences(l Look) []string {
	return plan.Differences(template(l.Wanted.Object), template(l.Live))
}

// template is an object that has nothing but the template of another.
func template(o *unstructured.Unstructured) *unstructured.Unstructured {
	t, _, _ := unstructured.NestedMap(o.Object, "spec", "template")
	out := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": t}}}
	out.SetGroupVersionKind(o.GroupVersionKind())
	return out
}

// finished reports whether every pod on a node that answers is of the present form and available.
func finished(l Look) bool {
	desired, updated, available := count(l.Live, "desiredNumberScheduled"), count(l.Live, "updatedNumberScheduled"), count(l.Live, "numberAvailable")
	return count(l.Live, "observedGeneration") >= l.Live.GetGeneration() && updated >= desired-int64(l.Gone) && available >= desired-int64(l.Gone)
}

// broken reports whether a pod of the present form is not ready.
func broken(pods []Pod) bool {
	for _, p := range pods {
		if p.Current && !p.Ready {
			return true
		}
	}
	return false
}

// working counts the pods of the present form that have been ready for long enough, and says after how long there
// will be one more.
func (l Look) working() (n int, next time.Duration) {
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

// rolling reports whether a DaemonSet replaces its pods by itself.
func rolling(o *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "updateStrategy", "type")
	_, surge, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "updateStrategy", "rollingUpdate", "maxSurge")
	return kind == "RollingUpdate" && !surge
}

// atOnce has some nodes replaced at once, besides those that are gone: Kubernetes counts these as being replaced.
func atOnce(l Look, n int) manifest.Object {
	return withStrategy(l.Wanted, map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": int64(n + l.Gone)}})
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

// rendered is how many nodes may be replaced at once as it was rendered: a number, or a share of all.
func rendered(l Look) int {
	value, _, _ := unstructured.NestedFieldNoCopy(l.Wanted.Object.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
	return share(value, len(l.Pods))
}

func count(o *unstructured.Unstructured, field string) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "status", field)
	return n
}

// Healthy reports whether a workload does its work in its present form, on all nodes that answer.
func Healthy(live *unstructured.Unstructured, gone int) bool {
	if live.GetKind() == "DaemonSet" {
		return finished(Look{Live: live, Gone: gone})
	}
	done, _ := plan.RolledOut(live)
	return done
}
