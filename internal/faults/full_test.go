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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/faults"
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

// drain makes room in the etcd again, as its manual says: delete, compact, defragment, and disarm the alarm.
func (c *cluster) drain(etcd *clientv3.Client) {
	c.Helper()
	deleted, err := etcd.Delete(c.Context(), ballast, clientv3.WithPrefix())
	if err == nil {
		_, err = etcd.Compact(c.Context(), deleted.Header.Revision)
	}
	if err == nil {
		_, err = etcd.Defragment(c.Context(), c.Etcd)
	}
	if err == nil {
		_, err = etcd.AlarmDisarm(c.Context(), &clientv3.AlarmMember{})
	}
	if err != nil {
		c.Fatal(err)
	}
}

// TestAnEtcdThatIsFullIsWaitedFor fills the etcd of the API server, which then takes nothing but deletions. What is deleted
// meanwhile comes back when there is room.
func TestAnEtcdThatIsFullIsWaitedFor(t *testing.T) {
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
	// Longer than a lease can go without being renewed.
	time.Sleep(15 * time.Second)
	if have := c.installed(); len(have) != len(want)-1 {
		t.Errorf("of %d objects one was deleted, and there are %d", len(want), len(have))
	}
	c.drain(etcd)
	c.reaches(want, "the etcd was full")
	if said := c.condition("Degraded"); strings.HasPrefix(said, "True") {
		t.Errorf("Degraded: %s", said)
	}
}
