package signer

import (
	"maps"
	"slices"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ledger remembers of each request what the cache cannot tell (yet). Its zero value is ready. Requests are known by their
// names, and a request of the same name as one that has gone is another one.
type ledger struct {
	mu      sync.Mutex
	entries map[string]*entry
	// waits are the requests that have no certificate yet, and why.
	waits map[string]error
}

type entry struct {
	uid types.UID
	// turn is when the request may be dealt with; zero if that was not asked yet.
	turn time.Time
	// done is true once it is answered.
	done bool
}

// of returns the entry of a request. The lock must be held.
func (l *ledger) of(csr *certificatesv1.CertificateSigningRequest) *entry {
	if l.entries == nil {
		l.entries = map[string]*entry{}
	}
	e := l.entries[csr.Name]
	if e == nil || e.uid != csr.UID {
		e = &entry{uid: csr.UID}
		l.entries[csr.Name] = e
	}
	return e
}

func (l *ledger) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, name)
	delete(l.waits, name)
}

// done reports whether this process has answered a request.
func (l *ledger) done(csr *certificatesv1.CertificateSigningRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of(csr).done
}

func (l *ledger) finish(csr *certificatesv1.CertificateSigningRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(csr).done = true
}

// turn returns how long a request has to wait. It asks once for each; fresh says that it did.
func (l *ledger) turn(csr *certificatesv1.CertificateSigningRequest, now time.Time, reserve func() time.Time) (wait time.Duration, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of(csr)
	if fresh = e.turn.IsZero(); fresh {
		e.turn = reserve()
	}
	return e.turn.Sub(now), fresh
}

// wait notes why a request has no certificate yet, nil if that is not so, and returns whether that is news.
func (l *ledger) wait(csr *certificatesv1.CertificateSigningRequest, why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.waits[csr.Name]
	if why == nil {
		delete(l.waits, csr.Name)
		return false
	}
	if l.waits == nil {
		l.waits = map[string]error{}
	}
	l.waits[csr.Name] = why
	return before == nil || before.Error() != why.Error()
}

// waiting returns why requests wait, each reason once, in the order of the requests' names.
func (l *ledger) waiting() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []error
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.waits)) {
		if why := l.waits[name]; !seen[why.Error()] {
			seen[why.Error()] = true
			out = append(out, why)
		}
	}
	return out
}
