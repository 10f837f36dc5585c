package operator

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

// TestOperatorKilledAtAnyWriteConverges cuts an operator off from the API server before and after each of its
// writes, during an install and during a change, and looks whether the next one ends where an undisturbed one does.
func TestOperatorKilledAtAnyWriteConverges(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	value, want := "", 0
	for write := 1; ; write++ {
		cut := false
		for _, before := range []bool{true, false} {
			want++
			value = fmt.Sprintf("eth%d", want)
			c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = value })
			victim := c.startCut(write, before)
			c.eventually("the victim is killed or finishes its work", func() bool {
				return victim.http.cut() || c.recorded() && c.has("interface", value)() && victim.http.idle()
			})
			cut = cut || victim.http.cut()
			victim.stop()

			heir := c.start()
			c.eventually(fmt.Sprintf("after write %d (before: %v) the heir converges", write, before), func() bool {
				return c.recorded() && c.has("interface", value)() && c.image() == "agent:1"
			})
			heir.stop()
		}
		if !cut {
			t.Logf("killed around each of %d writes", write-1)
			return
		}
		if write == 3 {
			c.forget() // the first writes of an install, too
		}
	}
}

// startCut starts an operator that loses the API server at a write.
func (c *cluster) startCut(write int, before bool) *run {
	return c.startWith(&counter{cutAt: write, before: before})
}

// forget removes everything that was installed from the cluster.
func (c *cluster) forget() {
	c.t.Helper()
	if err := c.Client.DeleteAllOf(c.t.Context(), &corev1.ConfigMap{}, client.InNamespace(operatorNamespace)); err != nil {
		c.t.Fatal(err)
	}
	for i := range fakeMaps {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: fmt.Sprintf("config-%d", i)}}
		if err := c.Client.Delete(c.t.Context(), cm); err != nil {
			c.t.Fatal(err)
		}
	}
}

// cut reports whether the client was cut off.
func (c *counter) cut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cutAt > 0 && c.writes >= c.cutAt
}

// idle reports whether there was no write for a while.
func (c *counter) idle() bool {
	n := c.writeCount()
	time.Sleep(150 * time.Millisecond)
	return c.writeCount() == n
}
