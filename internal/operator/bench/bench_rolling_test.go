package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

// begin has the operator roll out another template, and returns the DaemonSet that begins. Nothing of it runs yet, and the others wait for it.
func (c *cluster) begin(b *testing.B, sets []fleet) fleet {
	b.Helper()
	c.kubelet.away.Store(true)
	for _, f := range sets {
		c.refresh(b, f.set)
	}
	c.edit(b, func(spec *operatorv1.NetworkSpec) {
		spec.LogLevel = "Debug"
		if c.network(b).Spec.LogLevel == spec.LogLevel {
			spec.LogLevel = "Normal"
		}
	})
	var first fleet
	eventually(b, "a DaemonSet is to roll out", 20*time.Millisecond, func() bool {
		return slices.ContainsFunc(sets, func(f fleet) bool {
			generation := f.set.Generation
			c.refresh(b, f.set)
			first = f
			return f.set.Generation > generation
		})
	})
	return first
}

// finish has all workloads be as they should be.
func (c *cluster) finish(b *testing.B) {
	b.Helper()
	c.kubelet.away.Store(false)
	var sets appsv1.DaemonSetList
	if err := c.Client.List(b.Context(), &sets); err != nil {
		b.Fatal(err)
	}
	for i := range sets.Items {
		c.kubelet.see(b.Context(), &sets.Items[i])
	}
	c.settled(b)
}

func (c *cluster) refresh(b *testing.B, set *appsv1.DaemonSet) {
	b.Helper()
	if err := c.Client.Get(b.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		b.Fatal(err)
	}
}

// progress writes how far a DaemonSet is, as its controller does.
func (c *cluster) progress(b *testing.B, f fleet, updated int) {
	b.Helper()
	c.refresh(b, f.set)
	all := int32(*nodes)
	// The operator writes meanwhile how many may be rolled at once.
	apitest.ChangeStatus(b, c.Client, f.set, func() {
		f.set.Status = appsv1.DaemonSetStatus{ObservedGeneration: f.set.Generation, DesiredNumberScheduled: all, CurrentNumberScheduled: all,
			UpdatedNumberScheduled: int32(updated), NumberAvailable: all - 1, NumberReady: all - 1, NumberUnavailable: 1}
	})
}

// conditionChanged is from a change of a workload's status until the condition of the network reports it, as a watch shows it.
func (c *cluster) conditionChanged(b *testing.B, sets []fleet) {
	f := c.begin(b, sets)
	network := c.watch(b, operatorv1.GroupVersion.WithKind("Network"), client.ObjectKey{Name: operatorv1.NetworkName})
	var took times
	for b.Loop() {
		for range *samples {
			text := fmt.Sprintf("(%d out of %d updated)", len(took)+1, *nodes)
			start := time.Now()
			c.progress(b, f, len(took)+1)
			seen := network.until(b, "the condition has "+text, func(o *unstructured.Unstructured) bool {
				conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
				return strings.Contains(fmt.Sprint(conditions), text)
			})
			took = append(took, seen.Sub(start))
		}
	}
	network.stop()
	c.finish(b)
	took.report(b, 250, peer.condition)
}

// rolling has the pods of a DaemonSet be replaced, fifty at a time, and fail for a while in between; the operator's memory at
// most meanwhile is reported next to the value before.
func (c *cluster) rolling(b *testing.B, operator *process, sets []fleet) {
	const step = 50
	before := operator.memory(b).now
	operator.forgetPeak(b)
	busy, begin := operator.cpu(b), time.Now()
	f := c.begin(b, sets)
	for b.Loop() {
		into := c.store(b)
		for from := 0; from < len(f.pods); from += step {
			some := f.pods[from:min(from+step, len(f.pods))]
			for _, ready := range []bool{false, true} {
				for _, pod := range some {
					pod.Labels["pod-template-generation"] = fmt.Sprint(f.set.Generation)
					become(pod, ready)
					into.put(pod)
				}
				into.flush()
			}
			c.progress(b, f, from+len(some))
		}
		into.close()
	}
	c.finish(b)
	m := operator.memory(b)
	b.ReportMetric(time.Since(begin).Seconds(), "s")
	b.ReportMetric((operator.cpu(b) - busy).Seconds(), "cpu-s")
	b.ReportMetric(before, "idle-MB")
	b.ReportMetric(m.most, "peak-MB")
	b.ReportMetric(m.most/before, "peak/idle")
	compare(b, "MB", 1.3*before, peer.rolling)
}
