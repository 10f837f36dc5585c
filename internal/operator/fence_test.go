package operator

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestNothingIsWrittenWithALeaseThatSomebodyElseMayHave(t *testing.T) {
	now, code, sent := time.Unix(0, 0), http.StatusOK, 0
	f := &fence{now: func() time.Time { return now }}
	line := f.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(""))}, nil
	}))
	const lease = "/apis/coordination.k8s.io/v1/namespaces/n/leases/" + leaseName
	for _, step := range []struct {
		why, method, path string
		after             time.Duration
		code              int
		want              bool
	}{
		{"nobody writes before having the lease", "POST", "/api/v1/namespaces/n/configmaps", 0, 200, false},
		{"reading needs none", "GET", "/api/v1/nodes", 0, 200, true},
		{"nor does asking who somebody is", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", 0, 200, true},
		{"a lease that is refused", "PUT", lease, 0, 409, true},
		{"is none", "PATCH", "/api/v1/namespaces/n", 0, 200, false},
		{"one that is got", "PUT", lease, 0, 200, true},
		{"is one", "PATCH", "/api/v1/namespaces/n", 0, 200, true},
		{"until shortly before it ends", "DELETE", "/api/v1/namespaces/n", staleLease, 200, true},
		{"and no longer", "DELETE", "/api/v1/namespaces/n", time.Second, 200, false},
		{"renewed", "PUT", lease, time.Minute, 200, true},
		{"it is one again", "DELETE", "/api/v1/namespaces/n", 0, 200, true},
	} {
		now, code = now.Add(step.after), step.code
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
