package agent

import (
	"context"
	"time"
)

// Keeper keeps something on a node as it should be. All fields but Changed must be set.
type Keeper struct {
	// Apply compares the node with what is desired, and corrects it. It reports what fails itself; an error only means that it is to be
	// repeated soon.
	Apply func(context.Context) error
	// Every is how often Apply is called although nothing was reported.
	Every time.Duration
	// Settle is how long further changes are waited for after one.
	Settle time.Duration
	// Changed is fired when something may have changed; nil if nothing reports that.
	Changed Trigger
	// Now is the clock.
	Now func() time.Time
	// Beat is marked after each call.
	Beat *Beat
}

// Run calls Apply at once, after each change, and regularly, until the context ends. While Apply fails it is called again after a second,
// two, four and so on, up to Every: changes do not make that sooner, as a third party may undo at once what Apply does.
func (k Keeper) Run(ctx context.Context) {
	var failures Damper
	for ctx.Err() == nil {
		err := k.Apply(ctx)
		k.Beat.Mark(k.Now())
		if err != nil {
			Pause(ctx, min(max(failures.Next(k.Now()), time.Second), k.Every), nil)
			continue
		}
		timer := time.NewTimer(k.Every)
		if !Wait(ctx, k.Changed, nil, timer.C) {
			Pause(ctx, k.Settle, nil)
			k.Changed.clear()
		}
		timer.Stop()
	}
}

// Trigger reports to a Keeper that something may have changed. Make it with NewTrigger.
type Trigger chan struct{}

// NewTrigger returns a trigger.
func NewTrigger() Trigger { return make(Trigger, 1) }

// Fire never blocks.
func (t Trigger) Fire() {
	select {
	case t <- struct{}{}:
	default: // it is fired already
	}
}

// clear forgets a change.
func (t Trigger) clear() {
	select {
	case <-t:
	default:
	}
}
