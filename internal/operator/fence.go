package operator

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// staleLease is how old the last renewal of the lease may be when something is written. It is less than leaseDuration:
// nobody else works yet.
const staleLease = leaseDuration - retryPeriod

// fence lets writes through only as long as nobody else can have the lease. A replica that was stopped for a while, by a
// signal or with its machine, would go on in the middle of what it was doing when it wakes, before it notices that
// another one works by now.
type fence struct {
	now func() time.Time

	mu      sync.Mutex
	renewed time.Time
}

// wrap puts the fence in front of a transport.
func (f *fence) wrap(next http.RoundTripper) http.RoundTripper {
	return &fenced{fence: f, next: next}
}

func (f *fence) age() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now().Sub(f.renewed)
}

// asks reports whether a request that has a body only asks: who somebody is and what they may do.
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

// RoundTrip makes a request, unless it would write and the lease may be somebody else's.
func (f *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.Method == http.MethodGet || asks(r.URL.Path):
		return f.next.RoundTrip(r)
	case strings.Contains(r.URL.Path, "/apis/coordination.k8s.io/"):
		begun := f.now()
		response, err := f.next.RoundTrip(r)
		if err == nil && response.StatusCode < http.StatusMultipleChoices {
			f.mu.Lock()
			f.renewed = begun
			f.mu.Unlock()
		}
		return response, err
	}
	if age := f.age(); age > staleLease {
		return nil, fmt.Errorf("the lease %s was not renewed for %s: another replica may work by now, and nothing is written", leaseName, age.Round(time.Second))
	}
	return f.next.RoundTrip(r)
}
