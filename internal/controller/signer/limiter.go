package signer

import (
	"sync"
	"time"
)

// burst is the number of requests that a requester may make at once, interval that between further ones. A pod that restarts repeatedly
// stays below the limit.
const (
	burst    = 30
	interval = time.Second
)

// limiter limits the rate of requests per requester. Its zero value is ready.
type limiter struct {
	mu sync.Mutex
	// next is the time of the requester's next turn without burst.
	next   map[string]time.Time
	pruned time.Time
}

// reserve reserves the next turn of a requester and returns its time, which is now or earlier within the burst.
func (l *limiter) reserve(requester string, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = map[string]time.Time{}
	}
	// Requesters with a full burst need no entry.
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
