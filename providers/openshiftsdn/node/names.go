package node

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// keepName is how long an address stays after it has disappeared from the answers: pods may still have it.
	keepName = 30 * time.Second
	// leastTTL and mostTTL bound how long an answer is used.
	leastTTL = time.Second
	mostTTL  = 30 * time.Minute
	// firstRetry is the pause after the first failure; it doubles up to lastRetry.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// errNoName is the answer of a name server that a name does not exist, or has no address.
var errNoName = errors.New("the name has no IPv4 address")

// answer is what name servers know of a name.
type answer struct {
	addresses []netip.Addr
	ttl       time.Duration
}

// names are the addresses of the DNS names in egress firewalls. Each name is looked up on its own, so that a slow name server delays no other
// name. Make it with newNames.
type names struct {
	ask     func(context.Context, string) (answer, error)
	changed func()

	mu      sync.Mutex
	entries map[string]*nameEntry
}

type nameEntry struct {
	stop context.CancelFunc
	// seen has when each address was last in an answer.
	seen map[netip.Addr]time.Time
	// asked is true once the name servers were asked, also without an answer.
	asked bool
}

// newNames returns no names. Changed is called when the addresses of one have changed.
func newNames(ask func(context.Context, string) (answer, error), changed func()) *names {
	return &names{ask: ask, changed: changed, entries: map[string]*nameEntry{}}
}

// watch looks up exactly these names from now on, until the context ends.
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
			looking, stop := context.WithCancel(ctx)
			e := &nameEntry{stop: stop, seen: map[netip.Addr]time.Time{}}
			n.entries[name] = e
			go n.follow(looking, name, e)
		}
	}
}

// get returns the addresses of a name in order, none while they are not known.
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

// missing reports whether the name servers were asked for a name, and no address is known.
func (n *names) missing(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.entries[name]
	return e != nil && e.asked && len(e.seen) == 0
}

// wasAsked notes that the name servers were asked. A name that has no address after the first time is reported as a change.
func (n *names) wasAsked(e *nameEntry) {
	n.mu.Lock()
	first := !e.asked && len(e.seen) == 0
	e.asked = true
	n.mu.Unlock()
	if first {
		n.changed()
	}
}

// follow looks up a name until the context ends.
func (n *names) follow(ctx context.Context, name string, e *nameEntry) {
	retry := firstRetry
	for ctx.Err() == nil {
		got, err := n.ask(ctx, name)
		pause := min(max(got.ttl, leastTTL), mostTTL)
		switch {
		case err == nil:
			retry = firstRetry
		case ctx.Err() != nil:
			return
		default:
			pause, retry = retry, min(2*retry, lastRetry)
		}
		// What no name server answers, changes nothing.
		if err == nil || errors.Is(err, errNoName) {
			if kept := n.note(e, got.addresses); kept > 0 {
				pause = min(pause, kept)
			}
		}
		n.wasAsked(e)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// note adds the addresses of an answer, and removes those that have disappeared for long enough. It returns when the next one will have, 0 if none.
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
