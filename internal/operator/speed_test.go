package operator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// measure reports the median and the 99th percentile of what an operation takes, and what OpenShift's operator took
// for the same on the same kind of machine.
func measure(b *testing.B, peer time.Duration, operation func(i int) time.Duration) {
	b.Helper()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		took = append(took, operation(i))
	}
	slices.Sort(took)
	at := func(p int) float64 { return float64(took[(len(took)-1)*p/100].Microseconds()) / 1000 }
	b.ReportMetric(at(50), "p50-ms")
	b.ReportMetric(at(99), "p99-ms")
	b.ReportMetric(float64(peer.Milliseconds()), "peer-ms")
}

// benchCluster runs an operator with some sixty objects, as an install has.
func benchCluster(b *testing.B) *cluster {
	c := newCluster(b, apitest.Options{})
	c.create(newNetwork())
	c.start(withRegistry(pipeline.Registry{Providers: []provider.Provider{fakeNetwork{more: 56}}}))
	c.eventually("the network is recorded", c.recorded)
	return c
}

// BenchmarkOneFieldChanged is from the edit of one field until all objects that differ, five of sixty, are applied
// and that is recorded.
func BenchmarkOneFieldChanged(b *testing.B) {
	c := benchCluster(b)
	measure(b, 28*time.Second, func(i int) time.Duration {
		value := fmt.Sprintf("eth%d", i)
		start := time.Now()
		c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = value })
		c.quickly(func() bool {
			var d appsv1.DaemonSet
			return c.Client.Get(b.Context(), client.ObjectKey{Namespace: fakeNamespace, Name: fakeAgent}, &d) == nil &&
				d.Spec.Template.Spec.Containers[0].Args[0] == "--interface="+value && c.recorded()
		})
		return time.Since(start)
	})
}

// BenchmarkDeletedOperandRestored is from the deletion of an object until it is there again.
func BenchmarkDeletedOperandRestored(b *testing.B) {
	c := benchCluster(b)
	gone := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: "config-1"}}
	measure(b, 210*time.Second, func(int) time.Duration {
		start := time.Now()
		if err := c.Client.Delete(b.Context(), gone); err != nil {
			b.Fatal(err)
		}
		c.quickly(func() bool { return c.configMap(fakeNamespace, "config-1") != nil })
		return time.Since(start)
	})
}

// quickly polls without much of a pause.
func (c *cluster) quickly(ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(end) {
			c.t.Fatal("never")
		}
		time.Sleep(time.Millisecond)
	}
}
