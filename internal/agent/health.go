package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// stalledAfter is how long the main loop may be silent before the agent is unhealthy. Loops run at least every ten seconds.
const stalledAfter = 2 * time.Minute

// Beat is the time when a loop last ran. The zero value is a loop that has not run yet.
type Beat struct{ at atomic.Pointer[time.Time] }

// Mark records that the loop runs.
func (b *Beat) Mark(now time.Time) { b.at.Store(&now) }

// Last returns the time when the loop last ran; the zero time if it has not.
func (b *Beat) Last() time.Time {
	if t := b.at.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// Health serves the health and metrics endpoints of an agent.
type Health struct {
	// Ready reports whether pods can be started, and the problems.
	Ready func() (bool, Problems)
	// Beat is that of the loop that reconciles the node.
	Beat    *Beat
	Now     func() time.Time
	Metrics prometheus.Gatherer
	// Handlers are additional handlers by path. May be nil.
	Handlers map[string]http.HandlerFunc
}

// Handler serves /healthz (healthy before the first beat, and for two minutes after each), /readyz (whether pods can be started, with the problems in the
// body) and /metrics.
func (h Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if last := h.Beat.Last(); !last.IsZero() && h.Now().Sub(last) > stalledAfter {
			respond(w, http.StatusInternalServerError, "the node was last reconciled at "+last.Format(time.RFC3339))
			return
		}
		respond(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		first, code := "ready", http.StatusOK
		ready, problems := h.Ready()
		if !ready {
			first, code = "not ready", http.StatusServiceUnavailable
		}
		respond(w, code, strings.Join(append([]string{first}, problems.Sentences()...), "\n"))
	})
	for path, handler := range h.Handlers {
		mux.HandleFunc("GET "+path, handler)
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(h.Metrics, promhttp.HandlerOpts{}))
	return mux
}

// Serve serves until the context ends. It returns an error only if the address cannot be used.
func (h Health) Serve(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve health: %w", err)
	}
	server := &http.Server{Handler: h.Handler(), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health: %w", err)
	}
	return nil
}

func respond(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// Fails only if the client has disconnected.
	_, _ = fmt.Fprintln(w, text)
}
