package kubeconfig

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Clock is the time at the API server, which the answers to requests carry: ages of objects do not depend on the clock of
// the machine that a command runs on. The zero value is not usable; NewClock makes one.
type Clock struct {
	local func() time.Time

	mu     sync.Mutex
	behind time.Duration
}

// NewClock returns a clock that starts as the local one and follows the answers to requests made with config.
func NewClock(config *rest.Config, local func() time.Time) *Clock {
	c := &Clock{local: local}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return clocked{c, next} })
	return c
}

// Now is the time at the API server, the local time before the first answer.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.local().Add(c.behind)
}

// note takes the time of an answer. Answers carry whole seconds.
func (c *Clock) note(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = at.Sub(c.local())
}

// clocked is a transport that notes the time of answers.
type clocked struct {
	clock *Clock
	next  http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport that can cancel requests.
func (c clocked) WrappedRoundTripper() http.RoundTripper { return c.next }

// RoundTrip makes a request.
func (c clocked) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err == nil {
		c.clock.note(response.Header.Get("Date"))
	}
	return response, err
}
