package agent

import (
	"context"
	"time"
)

// Loop reconciles a part of a node periodically and after changes. All fields except Changed are required.
type Loop struct {
	// Apply reconciles the node. It reports its own problems; an error only means that it is retried with back-off.
	Apply func(context.Context) error
	// Interval is how often Apply is called without a change.
	Interval time.Duration
	// Debounce is how long to wait for further changes after one.
	Debounce time.Duration
	// Changed is fired after a possible change; nil if there are no notifications.
	Changed Trigger
	// Now is the clock.
	Now func() time.Time
	// Beat is marked after each call.
	Beat *Beat
}

// Run calls Apply immediately, after each change, and every Interval, until the context ends. After an error it retries with back-off from one second up to
// Interval. Changes do not shorten the back-off, since a third party may immediately undo each Apply.
func (k Loop) Run(ctx context.Context) {
	var failures Backoff
	for ctx.Err() == nil {
		err := k.Apply(ctx)
		k.Beat.Mark(k.Now())
		if err != nil {
			Pause(ctx, min(max(failures.Next(k.Now()), time.Second), k.Interval), nil)
			continue
		}
		timer := time.NewTimer(k.Interval)
		if !Wait(ctx, k.Changed, nil, timer.C) {
			Pause(ctx, k.Debounce, nil)
			k.Changed.clear()
		}
		timer.Stop()
	}
}

// Trigger notifies a Loop of a possible change. Use NewTrigger to create one.
type Trigger chan struct{}

// NewTrigger returns a trigger.
func NewTrigger() Trigger { return make(Trigger, 1) }

// Fire fires the trigger. It never blocks.
func (t Trigger) Fire() {
	select {
	case t <- struct{}{}:
	default: // it is already fired
	}
}

// clear discards a pending change.
func (t Trigger) clear() {
	select {
	case <-t:
	default:
	}
}
