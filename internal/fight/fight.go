// Package fight detects fights with third parties: repeated repairs of one object. The operator uses it for objects of the API, agents for
// state of their nodes.
package fight

import (
	"slices"
	"time"
)

// Reason is the reason of conditions and events about a fight.
const Reason = "FightDetected"

// A fight begins after After repairs within Window, and ends after a time of Calm without repairs.
const (
	After  = 5
	Window = time.Minute
	Calm   = 30 * time.Second
)

// Recent returns the times within Window.
func Recent(times []time.Time, now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return now.Sub(at) > Window })
}

// Repairs are the repairs of one object. The zero value has none.
type Repairs struct {
	recent []time.Time
	last   time.Time
	// fought is true during a fight, total is its number of repairs.
	fought bool
	total  int
}

// Add records a repair.
func (r *Repairs) Add(now time.Time) {
	if r.Fought(now) == 0 {
		r.fought, r.total = false, 0
	}
	r.recent, r.last = append(Recent(r.recent, now), now), now
	switch {
	case r.fought:
		r.total++
	case len(r.recent) >= After:
		r.fought, r.total = true, len(r.recent)
	}
}

// Fought returns the number of repairs of the current fight, rounded down to After times a power of two, so that reports do not change with
// each repair; 0 if there is no fight.
func (r *Repairs) Fought(now time.Time) int {
	if !r.fought || now.Sub(r.last) >= Calm {
		return 0
	}
	n := After
	for 2*n <= r.total {
		n *= 2
	}
	return n
}

// Over reports whether the repairs are too old to matter.
func (r *Repairs) Over(now time.Time) bool { return now.Sub(r.last) > Window }
