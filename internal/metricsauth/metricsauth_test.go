package metricsauth

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// wire counts the requests to the API server, and can be cut.
type wire struct {
	next  http.RoundTripper
	asked atomic.Int64
	cut   atomic.Bool
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.asked.Add(1)
	if w.cut.Load() {
		return nil, errors.New("the wire is cut")
	}
	return w.next.RoundTrip(r)
}

// mayRead allows a service account to get /metrics.
func mayRead(t *testing.T, server *apitest.Server, namespace, account string) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reads-metrics"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	server.Create(t, role)
	server.Create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}},
	})
}

func TestTokenReviewsAreCachedAndExpire(t *testing.T) {
	server := apitest.Shared(t)
	reader := server.ServiceAccount(t, "default", "prometheus").BearerToken
	counted := &wire{}
	config := rest.CopyConfig(server.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { counted.next = next; return counted })
	api, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	r, err := New(config, api, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	served := r.Only(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	expect := func(why, method, token string, status, asked int) {
		t.Helper()
		before := counted.asked.Load()
		w, q := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, "/metrics", nil)
		q.Header.Set("Authorization", "bearer "+token)
		served.ServeHTTP(w, q)
		if w.Code != status || int(counted.asked.Load()-before) != asked {
			t.Errorf("%s: status %d after %d requests, want %d after %d", why, w.Code, counted.asked.Load()-before, status, asked)
		}
	}
	expect("nothing but GET is served", http.MethodPost, reader, http.StatusMethodNotAllowed, 0)
	expect("a known user without permission", http.MethodGet, reader, http.StatusForbidden, 2)
	expect("is not reviewed again", http.MethodGet, reader, http.StatusForbidden, 0)
	mayRead(t, server, "default", "prometheus")
	// The API server's own view of permissions takes a moment.
	eventually.Is(t, "a right that is given is seen", func() bool {
		now = now.Add(refusedFor)
		return r.authorize(requestWith(reader)) == http.StatusOK
	})
	expect("is reviewed once", http.MethodGet, reader, http.StatusOK, 0)

	for i := range 3 * mostTokens {
		now = now.Add(time.Millisecond)
		r.authorize(requestWith("invented-" + strconv.Itoa(i)))
	}
	if len(r.cache) > mostTokens {
		t.Errorf("%d results are cached", len(r.cache))
	}
	expect("strangers are turned away without a question when there are many", http.MethodGet, "one-more", http.StatusTooManyRequests, 0)
	expect("who has been let in is not kept out by them", http.MethodGet, reader, http.StatusOK, 0)
	now = now.Add(allowedFor)
	expect("also when the result has expired", http.MethodGet, reader, http.StatusOK, 2)
	counted.cut.Store(true)
	now = now.Add(allowedFor)
	if got := r.authorize(requestWith(reader)); got != http.StatusServiceUnavailable {
		t.Errorf("without an API server no one is let in on hearsay: %d", got)
	}
}

func requestWith(token string) *http.Request {
	q := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	q.Header.Set("Authorization", "Bearer "+token)
	return q
}
