package checkendpoints

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/metricsserver"
)

// Server serves the metrics and the readiness of a checker over TLS.
type Server struct {
	// Registry has the metrics.
	Registry *prometheus.Registry
	// Readers authorizes requests for metrics. Nil allows all.
	Readers func(http.Handler) http.Handler
	// Ready is Checker.Ready.
	Ready func() bool
	// TLS has the allowed versions and cipher suites. Without a certificate, a self-signed one is created at the start.
	TLS *tls.Config
}

// Serve handles requests of a listener until the context ends. It closes the listener.
func (s Server) Serve(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	metrics := promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{})
	if s.Readers != nil {
		metrics = s.Readers(metrics)
	}
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.Ready() {
			http.Error(w, "the API server cannot be reached", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok")
	})
	return metricsserver.Serve(ctx, listener, mux, s.TLS, connectivity.SourceName)
}
