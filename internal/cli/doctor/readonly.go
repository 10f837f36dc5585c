package doctor

import (
	"fmt"
	"net/http"
	"strings"
)

// readOnly refuses every request that is not a read, and every read of Secrets, whatever the code above may do.
func readOnly(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return nil, fmt.Errorf("%s %s: this command only reads", r.Method, r.URL.Path)
		}
		if strings.Contains(r.URL.Path+"/", "/secrets/") {
			return nil, fmt.Errorf("%s: Secrets are not read", r.URL.Path)
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
