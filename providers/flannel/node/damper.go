package node

import "time"

const (
	// dampMost is the longest that a damper waits, dampForget how long it remembers.
	dampMost   = time.Minute
	dampForget = 5 * time.Minute
)

// damper says how long to wait before doing something again that a third party keeps undoing: not at all the first
// time, then longer and longer. An operator that forgets a node which goes on running would otherwise fight with
// its agent without end. The zero value is ready.
type damper struct {
	wait time.Duration
	last time.Time
}

// next returns how long to wait now.
func (d *damper) next(now time.Time) time.Duration {
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
