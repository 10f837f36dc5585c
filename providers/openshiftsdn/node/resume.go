package node

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/cluster-network-operator/cno/internal/agent"
)

const (
	// resumeQuiet is how long no watch receives anything once all have caught up after an outage. resumeLimit is how long flows wait for that.
	resumeQuiet = 200 * time.Millisecond
	resumeLimit = 5 * time.Second
)

// requestBackoff returns the pauses between requests while the API server does not respond.
func requestBackoff() wait.Backoff {
	return wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 4, Cap: 5 * time.Second}
}

// answered repeats a request of a watch until the API server responds. Meanwhile one watch at a time tries again. When the API server responds to it, all others
// follow immediately: each on its own would return later, and the changes made during an outage would arrive one kind after the other.
func (o *objects) answered(ctx context.Context, resource string, request func() error) error {
	for backoff := requestBackoff(); ; {
		outages, resumed := o.resumed.Get()
		err := request()
		o.record(resource, outages, err)
		if !unanswered(err) || ctx.Err() != nil {
			return err
		}
		select {
		case o.trying <- struct{}{}:
			agent.Pause(ctx, backoff.Step(), resumed)
			<-o.trying
		case <-resumed:
		case <-ctx.Done():
		}
	}
}

// unanswered reports whether an error is not the answer of an API server.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	return err != nil && (!errors.As(err, &status) || apierrors.IsServiceUnavailable(err))
}

// record records the result of a request. The first one that succeeds ends an outage. outages is the number of outages that had ended when the request was made:
// one that was made in an outage, and fails after its end, is not another outage.
func (o *objects) record(resource string, outages int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures[resource] = err
	switch ended, _ := o.resumed.Get(); {
	case !unanswered(err):
		o.answers()
	case outages == ended:
		o.outage, o.resumedAt = true, time.Time{}
	}
}

// answers ends an outage, if there is one. o.mu must be locked.
func (o *objects) answers() {
	if !o.outage {
		return
	}
	o.outage, o.resumedAt = false, time.Now()
	o.resumed.Update(func(n *int) bool { *n++; return true })
}

// closed is called when a watch has ended. Watches that are renewed do not end together: when none is open, the API server is gone, even if requests wait for
// it instead of failing.
func (o *objects) closed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.ContainsFunc(o.watched, func(w *watched) bool { return w.open.Load() > 0 }) {
		o.outage, o.resumedAt = true, time.Time{}
	}
}

// resuming reports whether an outage of the API server has just ended, and some watches have not caught up yet. Flows wait for all of them, so that everything
// that has changed is applied together.
func (o *objects) resuming() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.resumedAt.IsZero() {
		return false
	}
	behind := time.Since(o.lastChange) < resumeQuiet || slices.ContainsFunc(o.watched, func(w *watched) bool { return w.open.Load() == 0 || w.silence() < resumeQuiet })
	if behind && time.Since(o.resumedAt) < resumeLimit {
		return true
	}
	o.resumedAt = time.Time{}
	return false
}
