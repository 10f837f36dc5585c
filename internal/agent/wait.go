package agent

import (
	"context"
	"time"
)

// Wait returns when one of two values has changed, the timer has fired, or the context has ended. It reports whether the timer fired. Nil channels are
// ignored.
func Wait(ctx context.Context, one, other <-chan struct{}, timer <-chan time.Time) bool {
	select {
	case <-ctx.Done():
	case <-one:
	case <-other:
	case <-timer:
		return true
	}
	return false
}

// Pause waits for d, or until the context ends or the value changes.
func Pause(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	Wait(ctx, changed, nil, timer.C)
}

const (
	// backoffMax is the maximum delay of a Backoff, backoffReset the time after which it starts from zero.
	backoffMax   = time.Minute
	backoffReset = 5 * time.Minute
)

// Backoff computes the delay before an operation is repeated that a third party keeps undoing, or that keeps failing: zero at first, then from one second up
// to one minute. After five minutes without a call it starts from zero. The zero value is ready for use.
type Backoff struct {
	wait time.Duration
	last time.Time
}

// Next returns the delay at the time now.
func (d *Backoff) Next(now time.Time) time.Duration {
	switch {
	case now.Sub(d.last) > backoffReset:
		d.wait = 0
	case d.wait == 0:
		d.wait = time.Second
	default:
		d.wait = min(2*d.wait, backoffMax)
	}
	d.last = now
	return d.wait
}
