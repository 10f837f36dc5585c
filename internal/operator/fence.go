package operator

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// fence allows writes only while no other replica can hold the lease. A replica that was stopped for a while, by a signal
// or with its machine, would otherwise continue its work before it notices that another one is active.
//
// The age of the lease is the larger one of two clocks. The monotonic clock does not jump, but stops while the machine is
// suspended; the wall clock includes that time, but can be set.
type fence struct {
	// now reads the monotonic clock, wall only the wall clock.
	now, wall func() time.Time
	// stale is the age of the last renewal from which writes are refused.
	stale time.Duration

	mu                   sync.Mutex
	renewed, renewedWall time.Time
	closed               bool
}

// newFence creates a fence that refuses all writes until the lease is acquired.
func newFence(stale time.Duration) *fence {
	return &fence{now: time.Now, wall: func() time.Time { return time.Now().Round(0) }, stale: stale}
}

// close refuses all writes except those of the lease permanently.
func (f *fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// wrap wraps a transport with the fence.
func (f *fence) wrap(next http.RoundTripper) http.RoundTripper {
	return &fenced{fence: f, next: next}
}

// refuses returns an error if writes are refused now.
func (f *fence) refuses() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fmt.Errorf("the lease %s is released: the operator is stopping and writes nothing more", leaseName)
	}
	if age := max(f.now().Sub(f.renewed), f.wall().Sub(f.renewedWall)); age > f.stale {
		return fmt.Errorf("the lease %s was not renewed for %s: another replica may work by now, and nothing is written", leaseName, age.Round(time.Second))
	}
	return nil
}

// asks reports whether a POST request changes nothing: a TokenReview or a SubjectAccessReview.
func asks(path string) bool {
	return strings.Contains(path, "/apis/authentication.k8s.io/") || strings.Contains(path, "/apis/authorization.k8s.io/")
}

// fenced is a transport behind a fence.
type fenced struct {
	*fence
	next http.RoundTripper
}

// WrappedRoundTripper returns the transport, with which client-go can cancel requests.
func (f *fenced) WrappedRoundTripper() http.RoundTripper { return f.next }

// RoundTrip sends a request, unless it would write and another replica may hold the lease.
func (f *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.Method == http.MethodGet || asks(r.URL.Path):
		return f.next.RoundTrip(r)
	case strings.Contains(r.URL.Path, "/apis/coordination.k8s.io/"):
		start, startWall := f.now(), f.wall()
		response, err := f.next.RoundTrip(r)
		if err == nil && response.StatusCode < http.StatusMultipleChoices {
			f.mu.Lock()
			f.renewed, f.renewedWall = start, startWall
			f.mu.Unlock()
		}
		return response, err
	}
	if err := f.refuses(); err != nil {
		return nil, err
	}
	return f.next.RoundTrip(r)
}
