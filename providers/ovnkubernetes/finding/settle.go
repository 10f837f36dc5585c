package finding

import (
	"context"
	"time"
)

// Patience is how long something must not agree to be a finding: what changes while it is read, and what is repaired, is none.
type Patience struct {
	// Looks is how often everything is compared, at least once, and Pause the time between two of them.
	Looks int
	Pause time.Duration
}

// Default is longer than agents take to repair what they notice by looking.
func Default() Patience { return Patience{Looks: 6, Pause: 2500 * time.Millisecond} }

// Settled returns the findings of a comparison that it has each time. It ends as soon as there are none.
func Settled(ctx context.Context, p Patience, compare func(context.Context) (Report, error)) (Report, error) {
	kept, err := compare(ctx)
	for n := 1; n < p.Looks && err == nil && len(kept.Findings) > 0; n++ {
		timer := time.NewTimer(p.Pause)
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

// both are the findings that are in two lists. Details may change meanwhile.
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
