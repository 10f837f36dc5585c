package connectivitycheck

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/connectivity"
)

// BenchmarkReconcileOf5000Nodes is what a reconcile decides when nothing has changed, and reports what the cache keeps of the checks.
func BenchmarkReconcileOf5000Nodes(b *testing.B) {
	const nodes = 5000
	w := connectivity.Topology{Nodes: map[string]string{}}
	for i := range nodes {
		name := fmt.Sprintf("ip-10-0-%d-%d.example.internal", i/250, i%250)
		w.Nodes[name] = fmt.Sprintf("0b0a3a0e-7d5e-4d06-9f0c-%012d", i)
		w.Targets = append(w.Targets, connectivity.Target{Node: name, Endpoint: fmt.Sprintf("10.128.%d.%d:8080", i/250, i%250)})
		if i < connectivity.Sources(nodes) {
			w.Sources = append(w.Sources, connectivity.Source{Node: name, Pod: fmt.Sprintf("network-check-source-6847b7c7c7-%05d", i), Ready: true})
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	seen := &observation{checks: map[string]*check{}, topology: w}
	for _, p := range connectivity.Plan(w) {
		// As it comes from the API server, nothing is shared with anything.
		c := &check{}
		object(&p).DeepCopyInto(c)
		c.Name, c.ResourceVersion = string([]byte(c.Name)), fmt.Sprint(123456789)
		c.Spec.SourcePod, c.Spec.TargetEndpoint = string([]byte(c.Spec.SourcePod)), string([]byte(c.Spec.TargetEndpoint))
		c.Status.Conditions = []operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition{{
			Type: operatorcontrolplanev1alpha1.Reachable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		kept, err := trim(c)
		if err != nil {
			b.Fatal(err)
		}
		seen.checks[c.Name] = kept.(*check)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportAllocs()
	for b.Loop() {
		plan := connectivity.Plan(w)
		v := connectivity.Summarize(seen.results(plan), seen.ready(), time.Now())
		if todo := changes(plan, seen.checks); len(todo) > 0 || len(v.Nodes) > 0 {
			b.Fatalf("%d changes, %d nodes", len(todo), len(v.Nodes))
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-kept")
}
