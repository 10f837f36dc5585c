package doctor

import (
	"fmt"
	"net/http"
	stdpath "path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readOnly refuses every request except reads, dry runs and commands in pods, and every read of Secrets, independently of the code that
// uses the client.
func readOnly(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		dryRun := r.Method == http.MethodPatch && slices.Equal(r.URL.Query()["dryRun"], []string{metav1.DryRunAll})
		command := r.Method == http.MethodPost && isExec(r.URL.Path)
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !dryRun && !command {
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

// isExec reports whether a path is that of commands in a pod, which are POST requests if the server has no WebSockets.
func isExec(path string) bool {
	matched, err := stdpath.Match("/api/v1/namespaces/*/pods/*/exec", path)
	return matched && err == nil
}
