package operator

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// fence lets writes through only as long as no one else can have the lease. A replica that was stopped for a while, by a
// signal or with its machine, would go on in the middle of what it was doing when it wakes, before it notices that
// another one works by now.
//
// The age of the lease is measured by two clocks, and the larger one counts. The monotonic clock does not jump, but stands
// still while the machine is suspended; the wall clock counts that time, but can be set.
type fence struct {
	// now has the reading of the monotonic clock, wall only that of the wall clock.
	now, wall func() time.Time
	// stale is the age of a renewal from which on nothing is written.
	stale time.Duration

	mu                   sync.Mutex
	renewed, renewedWall time.Time
	closed               bool
}

// newFence makes a fence that nothing passes until the lease is taken.
func newFence(stale time.Duration) *fence {
	return &fence{now: time.Now, wall: func() time.Time { return time.Now().Round(0) }, stale: stale}
}

// close ends all writes but those of the lease, for good.
func (f *fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// wrap puts the fence in front of a transport.
func (f *fence) wrap(next http.RoundTripper) http.RoundTripper {
	return &fenced{fence: f, next: next}
}

// refuses returns why nothing may be written now, or nil.
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

// asks reports whether a request that has a body only asks: who someone is and what they may do.
func asks(path string) bool {
	return strings.Contains(path, "/apis/authentication.k8s.io/") || strings.Contains(path, "/apis/authorization.k8s.io/")
}

// fenced is a transport behind a fence.
type fenced struct {
	*fence
	next http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport that can cancel requests.
func (f *fenced) WrappedRoundTripper() http.RoundTripper { return f.next }

// RoundTrip makes a request, unless it would write and the lease may be a third party's.
func (f *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.Method == http.MethodGet || asks(r.URL.Path):
		return f.next.RoundTrip(r)
	case strings.Contains(r.URL.Path, "/apis/coordination.k8s.io/"):
		begun, begunWall := f.now(), f.wall()
		response, err := f.next.RoundTrip(r)
		if err == nil && response.StatusCode < http.StatusMultipleChoices {
			f.mu.Lock()
			f.renewed, f.renewedWall = begun, begunWall
			f.mu.Unlock()
		}
		return response, err
	}
	if err := f.refuses(); err != nil {
		return nil, err
	}
	return f.next.RoundTrip(r)
}
