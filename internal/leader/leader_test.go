package leader_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/cluster-network-operator/cno/internal/leader"
)

const (
	namespace, name = "network", "lease"
	year            = 365 * 24 * time.Hour
	// duration is that of leases, in seconds, and takeover how long after the last renewal another instance has the lease at the latest.
	duration = 14
	takeover = (duration + 5) * time.Second
)

// contender is an instance, and what it has done.
type contender struct {
	cancel context.CancelFunc
	done   chan error

	mu    sync.Mutex
	leads []bool
	began time.Time
	ended time.Time
}

// contend runs an instance that works until its term ends, and for the time of last after that.
func contend(ctx context.Context, client *fake.Clientset, last time.Duration) *contender {
	c := &contender{done: make(chan error, 1)}
	ctx, c.cancel = context.WithCancel(ctx)
	e := leader.Election{Client: client, Namespace: namespace, Name: name, Node: "node", Log: slog.New(slog.DiscardHandler), Leads: func(leads bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.leads = append(c.leads, leads)
	}}
	go func() {
		c.done <- e.Run(ctx, func(term context.Context) error {
			c.mu.Lock()
			c.began = time.Now()
			c.mu.Unlock()
			<-term.Done()
			time.Sleep(last)
			c.mu.Lock()
			c.ended = time.Now()
			c.mu.Unlock()
			return nil
		})
	}()
	return c
}

// led reports whether the instance has worked, and when it began and ended.
func (c *contender) led() (leads []bool, began, ended time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.leads), c.began, c.ended
}

// renew writes the lease as another instance does, whose clock differs by an offset.
func renew(t *testing.T, client *fake.Clientset, offset time.Duration) {
	t.Helper()
	holder, seconds, now := "another", int32(duration), metav1.NewMicroTime(time.Now().Add(offset))
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}
	leases := client.CoordinationV1().Leases(namespace)
	if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		if _, err = leases.Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// holder returns the instance in the lease, empty if it is released.
func holder(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}

// TestLeasesEndByElapsedTime: the times in a lease are those of the clock of its holder, which may be wrong, and may jump while the lease is renewed.
func TestLeasesEndByElapsedTime(t *testing.T) {
	for _, row := range []struct {
		why    string
		offset func(renewal int) time.Duration
	}{
		{"the clocks agree", func(int) time.Duration { return 0 }},
		{"the holder's clock is ahead: its lease does not last longer", func(int) time.Duration { return year }},
		{"the holder's clock is behind: its lease is not over", func(int) time.Duration { return -year }},
		{"the holder's clock jumps with every renewal", func(renewal int) time.Duration { return time.Duration(renewal%3-1) * year }},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				renew(t, client, row.offset(0))
				c := contend(t.Context(), client, 0)
				for i := range 100 {
					renew(t, client, row.offset(i))
					time.Sleep(5 * time.Second)
				}
				if leads, _, _ := c.led(); len(leads) > 0 {
					t.Fatal("two instances work, since the other one renews its lease")
				}
				last := time.Now().Add(-5 * time.Second)
				time.Sleep(takeover)
				leads, began, _ := c.led()
				if len(leads) == 0 || began.Sub(last) < duration*time.Second {
					t.Errorf("the last renewal was at %s; the instance works from %s: %v", last, began, leads)
				}
				c.cancel()
				<-c.done
			})
		})
	}
}

func TestTheLeaseIsReleasedAfterTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		c := contend(t.Context(), client, 30*time.Second)
		time.Sleep(time.Minute)
		c.cancel()
		time.Sleep(20 * time.Second) // longer than an instance keeps a lease that it does not renew
		if got := holder(t, client); !strings.HasPrefix(got, "node_") {
			t.Errorf("while the work ends, the lease is held by %q", got)
		}
		err := <-c.done
		if got := holder(t, client); got != "" {
			t.Errorf("after the work, the lease is held by %q", got)
		}
		if leads, _, ended := c.led(); !slices.Equal(leads, []bool{true, false}) || ended.IsZero() {
			t.Errorf("the instance reports %v, and ended at %s: %v", leads, ended, err)
		}
	})
}

// TestTheWorkEndsBeforeTheLease: an instance that cannot renew its lease stops before another one may begin, with time for its last writes.
func TestTheWorkEndsBeforeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var mu sync.Mutex
		var renewed time.Time
		unreachable := false
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			if unreachable {
				return true, nil, errors.New("the API server is unreachable")
			}
			renewed = time.Now()
			return false, nil, nil
		})
		c := contend(t.Context(), client, 0)
		time.Sleep(time.Minute)
		mu.Lock()
		unreachable = true
		mu.Unlock()
		if err := <-c.done; err == nil || err.Error() != "the lease was lost" {
			t.Errorf("the error is %v", err)
		}
		if lease, err := client.CoordinationV1().Leases(namespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil || *lease.Spec.LeaseDurationSeconds != duration {
			t.Fatalf("the lease is %v: %v", lease, err)
		}
		leads, _, ended := c.led()
		if last := ended.Sub(renewed); !slices.Equal(leads, []bool{true, false}) || last+leader.WriteLimit >= duration*time.Second {
			t.Errorf("the instance reports %v, and worked for %s after its last renewal", leads, last)
		}
	})
}
