package signer

import (
	"maps"
	"slices"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ledger is the in-memory state of the requests. Its zero value is ready. Entries are keyed by name and valid for one UID.
type ledger struct {
	mu      sync.Mutex
	entries map[string]*entry
	// pending are the reasons why requests have no certificate yet, by request name.
	pending map[string]error
}

type entry struct {
	uid types.UID
	// turn is the time when the request may be processed; zero if none is reserved.
	turn time.Time
	// done is true after the request was answered.
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
	delete(l.pending, name)
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

// turn returns how long a request has to wait. It reserves a turn for a new request; fresh is true then.
func (l *ledger) turn(csr *certificatesv1.CertificateSigningRequest, now time.Time, reserve func() time.Time) (wait time.Duration, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of(csr)
	if fresh = e.turn.IsZero(); fresh {
		e.turn = reserve()
	}
	return e.turn.Sub(now), fresh
}

// wait sets the reason why a request has no certificate yet; nil removes it. It reports whether the reason is new.
func (l *ledger) wait(csr *certificatesv1.CertificateSigningRequest, why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.pending[csr.Name]
	if why == nil {
		delete(l.pending, csr.Name)
		return false
	}
	if l.pending == nil {
		l.pending = map[string]error{}
	}
	l.pending[csr.Name] = why
	return before == nil || before.Error() != why.Error()
}

// waitReasons returns the distinct reasons why requests wait, in the order of the requests' names.
func (l *ledger) waitReasons() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []error
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.pending)) {
		if why := l.pending[name]; !seen[why.Error()] {
			seen[why.Error()] = true
			out = append(out, why)
		}
	}
	return out
}
