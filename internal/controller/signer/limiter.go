package signer

import (
	"sync"
	"time"
)

// A requester may make so many requests at once, and one in each interval after that. A pod that starts repeatedly
// stays below it.
const (
	burst    = 30
	interval = time.Second
)

// limiter gives each requester a turn for each request. Its zero value is ready.
type limiter struct {
	mu sync.Mutex
	// next is when the requester would have its turn if it had no burst.
	next   map[string]time.Time
	pruned time.Time
}

// reserve returns when it is the requester's turn, which is now or earlier for most.
func (l *limiter) reserve(requester string, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = map[string]time.Time{}
	}
	// Who has the whole burst again need not be remembered.
	if now.Sub(l.pruned).Abs() > time.Minute {
		for who, at := range l.next {
			if at.Before(now) {
				delete(l.next, who)
			}
		}
		l.pruned = now
	}
	at := l.next[requester]
	if at.Before(now) {
		at = now
	}
	l.next[requester] = at.Add(interval)
	return at.Add(-(burst - 1) * interval)
}
