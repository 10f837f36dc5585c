package bench

import (
	"os"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ending is how a process ends.
type ending struct {
	signal os.Signal
	rounds int
	peer   float64
}

var (
	inOrder = ending{syscall.SIGTERM, 10, peer.ended}
	crash   = ending{syscall.SIGKILL, 3, peer.crashed}
)

// replaced is from the end of an operator until the next one, which is started at once as a kubelet does, has the
// lease, and until it has restored an operand that was deleted meanwhile.
func (c *cluster) replaced(b *testing.B, operator *process, e ending) *process {
	leases := coordinationv1.SchemeGroupVersion.WithKind("Lease")
	key := client.ObjectKey{Namespace: "openshift-kube-proxy", Name: "proxy-config"}
	var leased, restored times
	for b.Loop() {
		for range e.rounds {
			lock := c.watch(b, leases, client.ObjectKey{Namespace: namespace, Name: lease})
			operand := c.watch(b, configMaps, key)
			before := holder(lock.now)
			operator.end(e.signal)
			doomed := &corev1.ConfigMap{}
			doomed.Namespace, doomed.Name = key.Namespace, key.Name
			if err := c.Client.Delete(b.Context(), doomed); err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			operator = c.start(b)
			got := lock.until(b, "the next operator has the lease", func(o *unstructured.Unstructured) bool {
				return holder(o) != "" && holder(o) != before
			})
			leased = append(leased, got.Sub(start))
			back := operand.until(b, "the operand is back", func(o *unstructured.Unstructured) bool { return o.GetUID() != operand.now.GetUID() })
			restored = append(restored, back.Sub(start))
			lock.stop()
			operand.stop()
			c.settled(b)
		}
	}
	slowest := time.Duration(0)
	for _, d := range restored {
		slowest = max(slowest, d)
	}
	b.ReportMetric(milliseconds(slowest), "restored-max-ms")
	leased.report(b, 0, e.peer)
	return operator
}

// holder is who has a lease.
func holder(o *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "holderIdentity")
	return name
}
