package store

import (
	"context"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// operation is a request to a pool: to assign an address, or to release some.
type operation struct {
	request     whereabouts.Request
	release     *Release
	overlapping bool

	// until is the deadline for retries.
	until time.Time
	// outcome and err are set before done is closed.
	outcome whereabouts.Outcome
	err     error
	done    chan struct{}

	mu sync.Mutex
	// abandoned is true if the caller no longer waits for the outcome.
	abandoned, finished bool
}

// queue has the operations that wait for a write of the same pool.
type queue struct{ waiting []*operation }

// run carries out an operation, in a batch with others that wait for the same pool.
func (s *Store) run(ctx context.Context, pool whereabouts.Pool, o *operation) error {
	timeout := s.RetryTimeout
	if timeout == 0 {
		timeout = defaultRetryTimeout
	}
	o.done, o.until = make(chan struct{}), time.Now().Add(timeout)
	// The operation times out before the caller does, so that the caller gets the cause.
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-responseReserve).Before(o.until) {
		o.until = deadline.Add(-responseReserve)
	}
	s.enqueue(pool, o)
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished {
		return o.err
	}
	o.abandoned = true
	return ctx.Err()
}

// responseReserve is the time between the deadline of an operation and that of its caller.
const responseReserve = time.Second

func (s *Store) enqueue(pool whereabouts.Pool, o *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[pool]; q != nil {
		q.waiting = append(q.waiting, o)
		return
	}
	s.queues[pool] = &queue{waiting: []*operation{o}}
	go s.work(pool)
}

// work carries out the operations of a pool until the queue is empty.
func (s *Store) work(pool whereabouts.Pool) {
	for {
		s.mu.Lock()
		q := s.queues[pool]
		if len(q.waiting) == 0 {
			delete(s.queues, pool)
			s.mu.Unlock()
			return
		}
		next := q.waiting[:min(len(q.waiting), maxBatch)]
		q.waiting = append([]*operation(nil), q.waiting[len(next):]...)
		s.mu.Unlock()

		b := batch{store: s, pool: pool}
		for _, o := range next {
			if o.stillWanted() {
				b.operations = append(b.operations, o)
			}
		}
		b.run()
	}
}

// stillWanted reports whether the caller waits for the outcome.
func (o *operation) stillWanted() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.abandoned
}

// finish passes the outcome to the caller. If the caller no longer waits, it releases a new address.
func (s *Store) finish(pool whereabouts.Pool, o *operation, outcome whereabouts.Outcome, err error) {
	o.mu.Lock()
	o.outcome, o.err, o.finished = outcome, err, true
	abandoned := o.abandoned
	close(o.done)
	o.mu.Unlock()
	if abandoned && err == nil && outcome.New {
		owner := o.request.Owner
		s.enqueue(pool, &operation{
			release:     &Release{ContainerID: owner.ContainerID, IfName: owner.IfName, Address: outcome.Address, Claims: true},
			overlapping: o.overlapping, done: make(chan struct{}), until: time.Now().Add(defaultRetryTimeout),
		})
	}
}
