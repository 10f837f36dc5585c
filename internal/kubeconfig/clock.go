package kubeconfig

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Clock is the clock of the API server, according to the dates of its responses: ages of objects do not depend on the local
// clock. The zero value is not usable; use NewClock.
type Clock struct {
	local func() time.Time

	mu     sync.Mutex
	behind time.Duration
}

// NewClock returns a clock that starts as the local one and is updated by the responses to requests with config.
func NewClock(config *rest.Config, local func() time.Time) *Clock {
	c := &Clock{local: local}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return clocked{c, next} })
	return c
}

// Now returns the time of the API server; the local time before the first response.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.local().Add(c.behind)
}

// note records the date of a response, which has whole seconds.
func (c *Clock) note(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = at.Sub(c.local())
}

// clocked is a transport that records the dates of responses.
type clocked struct {
	clock *Clock
	next  http.RoundTripper
}

// WrappedRoundTripper returns the transport, with which client-go can cancel requests.
func (c clocked) WrappedRoundTripper() http.RoundTripper { return c.next }

// RoundTrip sends a request.
func (c clocked) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err == nil {
		c.clock.note(response.Header.Get("Date"))
	}
	return response, err
}
