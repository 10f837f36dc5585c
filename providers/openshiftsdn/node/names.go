package node

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// keepName is how long an address is kept after it has disappeared from the answers: pods may still use it.
	keepName = 30 * time.Second
	// minTTL and maxTTL limit how long an answer is used.
	minTTL = time.Second
	maxTTL = 30 * time.Minute
	// firstRetry is the delay after the first failure; it doubles up to lastRetry.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// errNoName means that a name does not exist or has no address.
var errNoName = errors.New("the name has no IPv4 address")

// answer is the answer of a name server.
type answer struct {
	addresses []netip.Addr
	ttl       time.Duration
}

// names resolves the DNS names in egress firewalls. Each name is resolved independently, so that a slow name server delays no other name. Use newNames to
// create it.
type names struct {
	ask     func(context.Context, string) (answer, error)
	changed func()

	mu      sync.Mutex
	entries map[string]*nameEntry
}

type nameEntry struct {
	stop context.CancelFunc
	// seen has the time of the last answer with each address.
	seen map[netip.Addr]time.Time
	// queried is true once the name servers were queried, even without an answer. next is the time of the next query.
	queried bool
	next    time.Time
}

// newNames returns an empty set of names. changed is called when the addresses of a name have changed.
func newNames(ask func(context.Context, string) (answer, error), changed func()) *names {
	return &names{ask: ask, changed: changed, entries: map[string]*nameEntry{}}
}

// watch resolves exactly these names until the context ends or watch is called again.
func (n *names) watch(ctx context.Context, want []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, e := range n.entries {
		if !slices.Contains(want, name) {
			e.stop()
			delete(n.entries, name)
		}
	}
	for _, name := range want {
		if n.entries[name] == nil {
			resolving, stop := context.WithCancel(ctx)
			e := &nameEntry{stop: stop, seen: map[netip.Addr]time.Time{}}
			n.entries[name] = e
			go n.resolve(resolving, name, e)
		}
	}
}

// get returns the sorted addresses of a name; none if they are unknown.
func (n *names) get(name string) []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []netip.Addr
	if e := n.entries[name]; e != nil {
		for a := range e.seen {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// missing reports whether the name servers were queried for a name and no address is known.
func (n *names) missing(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.entries[name]
	return e != nil && e.queried && len(e.seen) == 0
}

// known returns the last answer time of each address of a name, and the time of the next query. ok is false if the name is not resolved, or was not queried
// yet.
func (n *names) known(name string) (seen map[netip.Addr]time.Time, next time.Time, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.entries[name]
	if e == nil || !e.queried {
		return nil, time.Time{}, false
	}
	return maps.Clone(e.seen), e.next, true
}

// recordQuery records a query and the time of the next one. A name without an address after the first query counts as a change.
func (n *names) recordQuery(e *nameEntry, next time.Time) {
	n.mu.Lock()
	first := !e.queried && len(e.seen) == 0
	e.queried, e.next = true, next
	n.mu.Unlock()
	if first {
		n.changed()
	}
}

// resolve resolves a name until the context ends.
func (n *names) resolve(ctx context.Context, name string, e *nameEntry) {
	retry := firstRetry
	for ctx.Err() == nil {
		got, err := n.ask(ctx, name)
		pause := min(max(got.ttl, minTTL), maxTTL)
		switch {
		case err == nil:
			retry = firstRetry
		case ctx.Err() != nil:
			return
		default:
			pause, retry = retry, min(2*retry, lastRetry)
		}
		// Without a response nothing changes.
		if err == nil || errors.Is(err, errNoName) {
			if kept := n.note(e, got.addresses); kept > 0 {
				pause = min(pause, kept)
			}
		}
		n.recordQuery(e, time.Now().Add(pause))
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// note records the addresses of an answer, and removes expired ones. next is the time until the next one expires, 0 if none does.
func (n *names) note(e *nameEntry, addresses []netip.Addr) (next time.Duration) {
	n.mu.Lock()
	changed, now := false, time.Now()
	for _, a := range addresses {
		if _, known := e.seen[a]; !known {
			changed = true
		}
		e.seen[a] = now
	}
	for a, at := range e.seen {
		switch left := keepName - now.Sub(at); {
		case slices.Contains(addresses, a):
		case left <= 0:
			delete(e.seen, a)
			changed = true
		case next == 0 || left < next:
			next = left
		}
	}
	n.mu.Unlock()
	if changed {
		n.changed()
	}
	return next
}
