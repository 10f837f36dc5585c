package cniserver

import (
	"context"
	"sync"
)

// queue serializes the requests of a sandbox, and limits the number of concurrent requests. An ADD of a pod cancels those of the pod's earlier sandboxes,
// which the runtime has abandoned.
type queue struct {
	slots chan struct{}

	mu        sync.Mutex
	sandboxes map[string]*sandbox
	// pods are the sandboxes with the newest ADD, by pod.
	pods map[Pod]running
}

// sandbox is a lock with a reference count.
type sandbox struct {
	turn  chan struct{}
	users int
}

// running is a running or waiting ADD.
type running struct {
	container string
	cancel    context.CancelCauseFunc
}

func newQueue(concurrency int) *queue {
	return &queue{slots: make(chan struct{}, concurrency), sandboxes: map[string]*sandbox{}, pods: map[Pod]running{}}
}

// enter waits for the lock of a sandbox and for a slot. leave must be called unless it returns an error.
func (q *queue) enter(ctx context.Context, container string) (leave func(), err error) {
	q.mu.Lock()
	s, ok := q.sandboxes[container]
	if !ok {
		s = &sandbox{turn: make(chan struct{}, 1)}
		q.sandboxes[container] = s
	}
	s.users++
	q.mu.Unlock()
	forget := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(q.sandboxes, container)
		}
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		forget()
		return nil, context.Cause(ctx)
	}
	select {
	case q.slots <- struct{}{}:
	case <-ctx.Done():
		<-s.turn
		forget()
		return nil, context.Cause(ctx)
	}
	return func() { <-q.slots; <-s.turn; forget() }, nil
}

// newest registers the ADD of a pod, and cancels that of another sandbox of the same pod. done must be called at its end.
func (q *queue) newest(pod Pod, container string, cancel context.CancelCauseFunc, replaced error) (done func()) {
	if pod.Name == "" {
		return func() {}
	}
	pod.UID = "" // a recreated pod has the same name
	q.mu.Lock()
	defer q.mu.Unlock()
	if old, ok := q.pods[pod]; ok && old.container != container {
		old.cancel(replaced)
	}
	q.pods[pod] = running{container, cancel}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.pods[pod].container == container {
			delete(q.pods, pod)
		}
	}
}
