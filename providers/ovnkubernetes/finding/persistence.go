package finding

import (
	"context"
	"time"
)

// Persistence determines how long a difference must persist to be a finding. Transient differences, and those that are repaired, are not findings.
type Persistence struct {
	// Attempts is the number of comparisons, at least 1. Interval is the time between two of them.
	Attempts int
	Interval time.Duration
}

// Default returns a persistence that is longer than the agents' repair of differences.
func Default() Persistence { return Persistence{Attempts: 6, Interval: 2500 * time.Millisecond} }

// Persistent returns the findings that all comparisons have in common. It stops when none are left.
func Persistent(ctx context.Context, p Persistence, compare func(context.Context) (Report, error)) (Report, error) {
	kept, err := compare(ctx)
	for n := 1; n < p.Attempts && err == nil && len(kept.Findings) > 0; n++ {
		timer := time.NewTimer(p.Interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return Report{}, ctx.Err()
		case <-timer.C:
		}
		var next Report
		if next, err = compare(ctx); err == nil {
			kept = Report{Findings: both(kept.Findings, next.Findings), Incomplete: next.Incomplete}
		}
	}
	Sort(kept.Findings)
	return kept, err
}

// both returns the findings that are in both lists, with the details of b.
func both(a, b []Finding) []Finding {
	type identity struct {
		kind         Kind
		place        Place
		object, what string
	}
	of := func(f Finding) identity { return identity{f.Kind, f.Place, f.Object, f.What} }
	first := map[identity]bool{}
	for _, f := range a {
		first[of(f)] = true
	}
	var out []Finding
	for _, f := range b {
		if first[of(f)] {
			out = append(out, f)
		}
	}
	return out
}
