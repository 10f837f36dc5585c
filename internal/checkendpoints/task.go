package checkendpoints

import (
	"context"
	"sync"
	"time"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/connectivity"
)

// task is a running check.
type task struct {
	name   string
	uid    types.UID
	spec   operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckSpec
	cancel context.CancelFunc

	mu      sync.Mutex
	status  operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckStatus
	written time.Time
}

// newTask continues from the status of an object: an outage does not end because another pod has taken over.
func newTask(object *check, cancel context.CancelFunc) *task {
	t := &task{name: object.Name, uid: object.UID, spec: object.Spec, cancel: cancel, status: *object.Status.DeepCopy()}
	for _, entries := range [][]connectivity.Entry{t.status.Successes, t.status.Failures} {
		if len(entries) > 0 && entries[0].Start.After(t.written) {
			t.written = entries[0].Start.Time
		}
	}
	return t
}

// run takes samples until the context ends. The first one is taken after a short delay that depends on the name.
func (c *Checker) run(ctx context.Context, t *task) {
	timer := time.NewTimer(offset(t.name, min(c.Pace.Retry, c.Pace.Interval)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		s := c.sample(ctx, t)
		if ctx.Err() != nil {
			return // a canceled sample is no failure
		}
		c.record(t, s)
		if s.Reached() {
			timer.Reset(c.Pace.Interval)
		} else {
			timer.Reset(c.Pace.Retry)
		}
	}
}

func (c *Checker) sample(ctx context.Context, t *task) connectivity.Sample {
	ctx, cancel := context.WithTimeout(ctx, c.Pace.Timeout)
	defer cancel()
	return c.Connector.sample(ctx, target(t.name), t.spec.TargetEndpoint, c.Now)
}

// record adds a sample to the status, and queues the status if it has to be written.
func (c *Checker) record(t *task, s connectivity.Sample) {
	c.Metrics.count(c.Namespace, t.name, s)
	t.mu.Lock()
	after, news := connectivity.Record(t.status, s)
	t.status = after
	due := news || s.Start.Sub(t.written) >= c.Pace.Refresh+offset(t.name, c.Pace.Refresh/4)
	if due {
		t.written = s.Start // a failed write is retried; the next one is not queued during a slow one
	}
	t.mu.Unlock()
	if news {
		c.Log.Info("check has another result", "check", t.name, "endpoint", s.Endpoint, "reached", s.Reached(), "message", newestMessage(after))
	}
	if due {
		c.queue(t)
	}
}

func newestMessage(s operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckStatus) string {
	for _, condition := range s.Conditions {
		if condition.Type == operatorcontrolplanev1alpha1.Reachable {
			return condition.Message
		}
	}
	return ""
}
