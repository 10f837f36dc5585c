package metricsserver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/metricsauth"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

func TestEndpointsAreReadOrRefused(t *testing.T) {
	for _, row := range []struct {
		why, text, listen, upstream, message string
	}{
		{"an IPv4 address", ":9102=http://127.0.0.1:29102/metrics", ":9102", "http://127.0.0.1:29102/metrics", ""},
		{"IPv6 addresses", "[::1]:9102=http://[::1]:29102/metrics", "[::1]:9102", "http://[::1]:29102/metrics", ""},
		{"there is one part", ":9102", "", "", "has no URL"},
		{"there is no port to listen on", "localhost=http://127.0.0.1:1/metrics", "", "", "an address and a port"},
		{"the upstream has TLS", ":1=https://127.0.0.1:1/metrics", "", "", "http URL"},
		{"the upstream has no port", ":1=http://127.0.0.1/metrics", "", "", "http URL"},
		{"the upstream has a query", ":1=http://127.0.0.1:1/metrics?a=b", "", "", "http URL"},
		{"the upstream is on another host", ":1=http://192.0.2.1:1/metrics", "", "", "loopback address"},
		{"a name may be that of another host", ":1=http://localhost:1/metrics", "", "", "loopback address"},
	} {
		got, err := ParseEndpoint(row.text)
		switch {
		case row.message == "" && (err != nil || got.Listen != row.listen || got.Upstream != row.upstream):
			t.Errorf("%s: got %+v, %v", row.why, got, err)
		case row.message != "" && (err == nil || !strings.Contains(err.Error(), row.message) || !strings.Contains(err.Error(), "write for example")):
			t.Errorf("%s: got %v", row.why, err)
		}
	}
}

// proxied is a proxy whose clients the API server authorizes, in front of a handler.
type proxied struct {
	url string
	web *http.Client
}

func newProxied(t *testing.T, api *rest.Config, upstream http.HandlerFunc) proxied {
	t.Helper()
	behind := httptest.NewServer(upstream)
	t.Cleanup(behind.Close)
	client, err := rest.HTTPClientFor(api)
	if err != nil {
		t.Fatal(err)
	}
	readers, err := metricsauth.New(api, client, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	handler := Proxy{Upstream: behind.URL + "/metrics", Only: readers.Only, Log: slog.New(slog.DiscardHandler)}.Handler()
	go func() { ended <- Serve(ctx, listener, handler, &tls.Config{MinVersion: tls.VersionTLS13}, "test") }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return proxied{"https://" + listener.Addr().String(), &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true, DisableKeepAlives: true,
	}}}
}

// get reads a path with a token, and an encoding that is accepted.
func (p proxied) get(t *testing.T, path, token string) (*http.Response, string, error) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept-Encoding", "gzip")
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := p.web.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// TestProxiedMetricsAreForAuthorizedClients asks a real API server who may read.
func TestProxiedMetricsAreForAuthorizedClients(t *testing.T) {
	server := apitest.Shared(t)
	namespace := server.Namespace(t)
	reader, stranger := server.ServiceAccount(t, namespace, "prometheus").BearerToken, server.ServiceAccount(t, namespace, "stranger").BearerToken
	server.Create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reads-metrics"},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}})
	bind := func(name, role, account string) {
		server.Create(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}}})
	}
	bind("reads-metrics", "reads-metrics", "prometheus")
	// The proxy has what its manifests grant, and nothing else.
	bind("proxies-metrics", "system:auth-delegator", "metrics-proxy")
	seen := make(chan http.Header, 16)
	p := newProxied(t, server.ServiceAccount(t, namespace, "metrics-proxy"), func(w http.ResponseWriter, q *http.Request) {
		select {
		case seen <- q.Header:
		default:
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "as it is")
	})
	// The API server's own view of bindings takes a moment.
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		response, _, err := p.get(t, "/metrics", reader)
		return err == nil && response.StatusCode == http.StatusOK, nil
	}); err != nil {
		t.Fatal("an authorized client cannot read metrics")
	}
	response, body, err := p.get(t, "/metrics", reader)
	if err != nil || body != "as it is" || response.Header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("got %v %q, %v", response.Header, body, err)
	}
	if header := <-seen; header.Get("Authorization") != "" || header.Get("Accept-Encoding") != "gzip" {
		t.Errorf("the workload got %v", header)
	}
	for _, row := range []struct {
		why, path, token string
		want             int
	}{
		{"a client without a token", "/metrics", "", http.StatusUnauthorized},
		{"a token of no one", "/metrics", "invented", http.StatusUnauthorized},
		{"an account without the permission", "/metrics", stranger, http.StatusForbidden},
		{"only metrics are served", "/debug/pprof/", reader, http.StatusNotFound},
		{"the kubelet has no token", "/healthz", "", http.StatusOK},
	} {
		if response, body, err := p.get(t, row.path, row.token); err != nil || response.StatusCode != row.want || strings.Contains(body, "as it is") {
			t.Errorf("%s: got %d %q, %v, want %d", row.why, response.StatusCode, body, err, row.want)
		}
	}
}

func TestFailuresOfTheWorkloadAreNoMetrics(t *testing.T) {
	all := func(next http.Handler) http.Handler { return next }
	log := slog.New(slog.DiscardHandler)
	stopped := httptest.NewServer(http.NotFoundHandler())
	stopped.Close()
	for _, row := range []struct {
		why      string
		upstream http.HandlerFunc
	}{
		{"it fails", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "figure 1", http.StatusInternalServerError)
		}},
		{"it refers to another server", func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "http://192.0.2.1/", http.StatusFound)
		}},
		{"it does not listen", nil},
	} {
		url := stopped.URL
		if row.upstream != nil {
			behind := httptest.NewServer(row.upstream)
			defer behind.Close()
			url = behind.URL
		}
		w := httptest.NewRecorder()
		Proxy{Upstream: url + "/metrics", Only: all, Log: log}.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if w.Code != http.StatusBadGateway || strings.Contains(w.Body.String(), "figure") {
			t.Errorf("%s: got %d %q", row.why, w.Code, w.Body)
		}
	}
	// A response that ends early must not look whole to the client.
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "figure 1")
	}))
	defer short.Close()
	front := httptest.NewServer(Proxy{Upstream: short.URL, Only: all, Log: log}.Handler())
	defer front.Close()
	response, err := http.Get(front.URL + "/metrics")
	if err == nil {
		defer response.Body.Close()
		_, err = io.ReadAll(response.Body)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("a part is taken for the whole: %v", err)
	}
}
