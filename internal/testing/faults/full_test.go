package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/faults"
)

// ballast is where the keys are that fill an etcd.
const ballast = "/ballast/"

// fill writes to the etcd of the cluster until it takes no more.
func (c *cluster) fill(etcd *clientv3.Client) {
	c.Helper()
	text := strings.Repeat("x", 1<<20)
	for n := 0; ; n++ {
		switch _, err := etcd.Put(c.Context(), fmt.Sprint(ballast, n), text); {
		case errors.Is(err, rpctypes.ErrNoSpace):
			return
		case err != nil:
			c.Fatal(err)
		}
	}
}

// drain makes room in the etcd again, as in its manual: delete, compact, defragment, and disarm the alarm. A write that was
// under way can raise the alarm once more, and space that was not compacted yet is not freed; so it is done until no alarm is
// raised and a write succeeds.
func (c *cluster) drain(etcd *clientv3.Client) {
	c.Helper()
	c.eventually("there is room in the etcd", func() string {
		if err := c.makeRoom(etcd); err != nil {
			return err.Error()
		}
		if _, err := etcd.Put(c.Context(), ballast, "a little"); err != nil {
			return "write after draining: " + err.Error()
		}
		alarms, err := etcd.AlarmList(c.Context())
		switch {
		case err != nil:
			return err.Error()
		case len(alarms.Alarms) > 0:
			return fmt.Sprintf("alarms are raised: %v", alarms.Alarms)
		}
		return ""
	})
}

// makeRoom does once what drain does.
func (c *cluster) makeRoom(etcd *clientv3.Client) error {
	deleted, err := etcd.Delete(c.Context(), ballast, clientv3.WithPrefix())
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	// The API server may have compacted further.
	if _, err := etcd.Compact(c.Context(), deleted.Header.Revision, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compact: %w", err)
	}
	if _, err := etcd.Defragment(c.Context(), c.Etcd); err != nil {
		return fmt.Errorf("defragment: %w", err)
	}
	if _, err := etcd.AlarmDisarm(c.Context(), &clientv3.AlarmMember{}); err != nil {
		return fmt.Errorf("disarm: %w", err)
	}
	return nil
}

// TestFullEtcdIsWaitedFor fills the etcd of the API server, which then takes nothing but deletions. What is deleted
// meanwhile is restored when there is space.
func TestFullEtcdIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := newClusterWith(t, apitest.Options{EtcdQuota: 128 << 20})
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Etcd}})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	c.create(newNetwork())
	line := faults.NewLine(nil)
	p := c.startAgain(line, withLease, restarted)
	c.finishes(p, "the network is installed")
	want := c.installed()
	c.fill(etcd)
	before := line.Writes()
	if err := c.Client.Delete(t.Context(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-flannel", Name: "flanneld"}}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the operator tries to make it again", func() string {
		if line.Writes() == before {
			return "it does not"
		}
		return ""
	})
	c.eventually("the lease runs out, which cannot be renewed", func() string {
		var held coordinationv1.Lease
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "network-operator-lock"}, &held); err != nil {
			return err.Error()
		}
		if age := time.Since(held.Spec.RenewTime.Time); age < 3*lease.Duration/2 {
			return fmt.Sprintf("it was renewed %s ago", age)
		}
		return ""
	})
	if have := c.installed(); len(have) != len(want)-1 {
		t.Errorf("of %d objects one was deleted, and there are %d", len(want), len(have))
	}
	c.drain(etcd)
	c.reaches(p, want, "the etcd was full")
	if degraded := c.condition("Degraded"); strings.HasPrefix(degraded, "True") {
		t.Errorf("Degraded: %s", degraded)
	}
}
