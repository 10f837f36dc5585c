package live

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/status"
)

func TestOnlyWhatPagesShowIsSignaled(t *testing.T) {
	begin := time.Now()
	lease := func(holder string, after time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(begin.Add(after))
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &at}}
	}
	for _, row := range []struct {
		why           string
		before, after any
		signaled      bool
	}{
		{"the holder renews its lease", lease("a", 0), lease("a", 2*time.Second), false},
		{"another replica acquires it", lease("a", 0), lease("b", 2*time.Second), true},
		{"its holder releases it", lease("a", 0), lease("", 2*time.Second), true},
		{"one that has expired is renewed", lease("a", 0), lease("a", status.LeaseStale+time.Second), true},
		{"a lease that was never held is acquired", &coordinationv1.Lease{}, lease("a", 0), true},
		{"another object changes", &corev1.Node{}, &corev1.Node{}, true},
	} {
		c := &Cluster{changed: make(chan struct{}, 1)}
		c.handler().OnUpdate(row.before, row.after)
		if signaled := len(c.changed) == 1; signaled != row.signaled {
			t.Errorf("%s: signaled is %v", row.why, signaled)
		}
	}
	c := &Cluster{changed: make(chan struct{}, 1)}
	c.handler().OnAdd(lease("a", 0), false)
	if len(c.changed) != 1 {
		t.Error("a lease that is created is not signaled")
	}
}
