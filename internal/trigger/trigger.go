// Package trigger triggers reconciles of a controller for events that are no watched Kubernetes objects: changes of the
// board, watches that are added later, timers.
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

// everything is the request of a controller that always reconciles everything.
var everything = reconcile.Request{}

// Trigger requests reconciles of one controller, which watches its Source. The zero value is ready to use. Requests are
// merged while one is pending.
type Trigger struct {
	// Delay is how long requests are batched; 0 means not at all.
	Delay time.Duration

	mu      sync.Mutex
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	pending bool
}

// Fire requests a reconcile. Before the controller watches Source, the request is kept.
func (t *Trigger) Fire() {
	t.mu.Lock()
	queue := t.queue
	t.pending = t.pending || queue == nil
	t.mu.Unlock()
	if queue == nil {
		return
	}
	if t.Delay > 0 {
		queue.AddAfter(everything, t.Delay)
		return
	}
	queue.Add(everything)
}

// Source returns the source for the controller.
func (t *Trigger) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		t.mu.Lock()
		t.queue = queue
		pending := t.pending
		t.mu.Unlock()
		if pending {
			queue.Add(everything)
		}
		return nil
	})
}

// Handler returns a handler that fires the trigger for every event of a watch.
func (t *Trigger) Handler() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		if t.Delay > 0 {
			t.Fire()
			return nil
		}
		return []reconcile.Request{everything}
	})
}
