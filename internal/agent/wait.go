package agent

import (
	"context"
	"time"
)

// Wait returns when one of two values changed, the timer fired, or the context ended. It reports whether it was the timer. Nil channels
// are not waited for.
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

// Pause waits for some time, or less if the context ends or the value changes.
func Pause(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	Wait(ctx, changed, nil, timer.C)
}

const (
	// dampMost is the longest that a Damper waits, dampForget how long it remembers.
	dampMost   = time.Minute
	dampForget = 5 * time.Minute
)

// Damper says how long to wait before doing something again that a third party keeps undoing, or that keeps failing: not at all the
// first time, then from a second up to a minute. After five minutes of quiet it starts from zero. The zero value is ready.
type Damper struct {
	wait time.Duration
	last time.Time
}

// Next returns how long to wait now.
func (d *Damper) Next(now time.Time) time.Duration {
	switch {
	case now.Sub(d.last) > dampForget:
		d.wait = 0
	case d.wait == 0:
		d.wait = time.Second
	default:
		d.wait = min(2*d.wait, dampMost)
	}
	d.last = now
	return d.wait
}
