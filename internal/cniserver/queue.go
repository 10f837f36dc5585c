package cniserver

import (
	"context"
	"sync"
)

// queue lets one request of a sandbox run after another, a number of requests at once in all. A request of a pod cancels those of
// the pod's earlier sandboxes: the runtime has given these up.
type queue struct {
	slots chan struct{}

	mu        sync.Mutex
	sandboxes map[string]*sandbox
	// pods are the sandboxes by pod for which the newest ADD was asked.
	pods map[Pod]running
}

// sandbox is a lock that counts who wants it.
type sandbox struct {
	turn  chan struct{}
	users int
}

// running is an ADD that runs or waits.
type running struct {
	container string
	cancel    context.CancelCauseFunc
}

func newQueue(atOnce int) *queue {
	return &queue{slots: make(chan struct{}, atOnce), sandboxes: map[string]*sandbox{}, pods: map[Pod]running{}}
}

// enter waits for the turn of a sandbox and for a slot. leave must be called if there is no error.
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

// newest registers the ADD of a pod, and cancels the one of another sandbox of the same pod. done must be called when it has ended.
func (q *queue) newest(pod Pod, container string, cancel context.CancelCauseFunc, replaced error) (done func()) {
	if pod.Name == "" {
		return func() {}
	}
	pod.UID = "" // a pod that is created again has its name
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
