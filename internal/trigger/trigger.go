// Package trigger starts a pass of a loop from wherever something has changed that is no Kubernetes object of its
// own: the board, a watch that came later, a timer.
package trigger

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// pass is the one request of a loop that always looks at everything.
var pass = reconcile.Request{}

// Trigger asks one loop for a pass. Its zero value is ready; a loop listens to it by watching its Source. Passes
// that are asked for while one waits are one.
type Trigger struct {
	// Delay is how long a pass waits for more of the same. 0 is not at all.
	Delay time.Duration

	mu      sync.Mutex
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	pending bool
}

// Fire asks for a pass. Before the loop listens, it is noted.
func (t *Trigger) Fire() {
	t.mu.Lock()
	queue := t.queue
	t.pending = t.pending || queue == nil
	t.mu.Unlock()
	if queue == nil {
		return
	}
	if t.Delay > 0 {
		queue.AddAfter(pass, t.Delay)
		return
	}
	queue.Add(pass)
}

// Source is what the loop watches.
func (t *Trigger) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		t.mu.Lock()
		t.queue = queue
		pending := t.pending
		t.mu.Unlock()
		if pending {
			queue.Add(pass)
		}
		return nil
	})
}

// Handler makes every event of a watch fire the trigger.
func (t *Trigger) Handler() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		if t.Delay > 0 {
			t.Fire()
			return nil
		}
		return []reconcile.Request{pass}
	})
}
