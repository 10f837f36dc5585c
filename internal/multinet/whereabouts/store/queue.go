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

	// until is when waiting for the API server ends.
	until time.Time
	// outcome and err are set before done is closed.
	outcome whereabouts.Outcome
	err     error
	done    chan struct{}

	mu sync.Mutex
	// abandoned is true if the caller has not waited for the outcome.
	abandoned, finished bool
}

// queue are the operations that wait while a write of the same pool is under way.
type queue struct{ waiting []*operation }

// run has an operation carried out, together with others that wait for the same pool.
func (s *Store) run(ctx context.Context, pool whereabouts.Pool, o *operation) error {
	patience := s.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	o.done, o.until = make(chan struct{}), time.Now().Add(patience)
	// The caller gets the reason, and not only that it took too long.
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-answerIn).Before(o.until) {
		o.until = deadline.Add(-answerIn)
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

// answerIn is how much earlier than the end of the caller's patience an operation gives up.
const answerIn = time.Second

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

// work carries out the operations of a pool until none waits.
func (s *Store) work(pool whereabouts.Pool) {
	for {
		s.mu.Lock()
		q := s.queues[pool]
		if len(q.waiting) == 0 {
			delete(s.queues, pool)
			s.mu.Unlock()
			return
		}
		together := q.waiting[:min(len(q.waiting), mostTogether)]
		q.waiting = append([]*operation(nil), q.waiting[len(together):]...)
		s.mu.Unlock()

		b := batch{store: s, pool: pool}
		for _, o := range together {
			if o.begin() {
				b.operations = append(b.operations, o)
			}
		}
		b.run()
	}
}

// begin reports whether the caller still waits.
func (o *operation) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.abandoned
}

// finish hands the outcome to the caller. What no caller takes is released.
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
			overlapping: o.overlapping, done: make(chan struct{}), until: time.Now().Add(defaultPatience),
		})
	}
}
