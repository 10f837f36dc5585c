package operator

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestNothingIsWrittenWithALeaseThatAnotherReplicaMayHold(t *testing.T) {
	now, asleep, code, sent := time.Unix(0, 0), time.Duration(0), http.StatusOK, 0
	f := &fence{stale: defaultLease.stale(), now: func() time.Time { return now }, wall: func() time.Time { return now.Add(asleep) }}
	line := f.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(""))}, nil
	}))
	const lease = "/apis/coordination.k8s.io/v1/namespaces/n/leases/" + leaseName
	for _, step := range []struct {
		why, method, path string
		after, suspended  time.Duration
		code              int
		want              bool
	}{
		{"no write before the lease is acquired", "POST", "/api/v1/namespaces/n/configmaps", 0, 0, 200, false},
		{"reading needs none", "GET", "/api/v1/nodes", 0, 0, 200, true},
		{"nor does a review of a token", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", 0, 0, 200, true},
		{"a lease that is refused", "PUT", lease, 0, 0, 409, true},
		{"is none", "PATCH", "/api/v1/namespaces/n", 0, 0, 200, false},
		{"one that is got", "PUT", lease, 0, 0, 200, true},
		{"is one", "PATCH", "/api/v1/namespaces/n", 0, 0, 200, true},
		{"until shortly before it ends", "DELETE", "/api/v1/namespaces/n", defaultLease.stale(), 0, 200, true},
		{"and no longer", "DELETE", "/api/v1/namespaces/n", time.Second, 0, 200, false},
		{"renewed", "PUT", lease, time.Minute, 0, 200, true},
		{"it is one again", "DELETE", "/api/v1/namespaces/n", 0, 0, 200, true},
		{"until the machine was suspended", "DELETE", "/api/v1/namespaces/n", 0, time.Hour, 200, false},
		{"renewed after that", "PUT", lease, 0, 0, 200, true},
		{"it is one once more", "DELETE", "/api/v1/namespaces/n", 0, 0, 200, true},
		{"a wall clock that is set back", "DELETE", "/api/v1/namespaces/n", defaultLease.stale() + time.Second, -2 * time.Hour, 200, false},
	} {
		now, asleep, code = now.Add(step.after), asleep+step.suspended, step.code
		before := sent
		r, err := http.NewRequestWithContext(t.Context(), step.method, "http://api"+step.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := line.RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if passed := sent > before; passed != step.want || passed != (err == nil) {
			t.Errorf("%s: sent %t, error %v", step.why, passed, err)
		}
	}
}

func TestNothingIsWrittenAfterTheLeaseIsReleased(t *testing.T) {
	f := newFence(defaultLease.stale())
	line := f.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, nil
	}))
	send := func(method, path string) error {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://api"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := line.RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	const lease = "/apis/coordination.k8s.io/v1/namespaces/n/leases/" + leaseName
	if err := errors.Join(send("PUT", lease), send("PATCH", "/api/v1/namespaces/n")); err != nil {
		t.Fatal(err)
	}
	f.close()
	if err := send("PUT", lease); err != nil {
		t.Errorf("the lease cannot be released: %v", err)
	}
	if send("PATCH", "/api/v1/namespaces/n") == nil {
		t.Error("a stalled controller still writes")
	}
}
