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

// Server serves a checker's metrics and whether it is ready, over TLS.
type Server struct {
	// Registry has the metrics.
	Registry *prometheus.Registry
	// Readers lets those through who may read the metrics, and answers the others. Nil lets everybody.
	Readers func(http.Handler) http.Handler
	// Ready is that of the checker.
	Ready func() bool
	// TLS has the versions and cipher suites that are allowed. Its certificate is made at the start, signed by itself, unless there is one.
	TLS *tls.Config
}

// Serve answers on a listener until the context ends. It closes the listener.
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
