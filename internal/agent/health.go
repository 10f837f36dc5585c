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

// stuckAfter is how long an agent's main loop may be silent. Loops look at the kernel every ten seconds.
const stuckAfter = 2 * time.Minute

// Beat is when a loop last ran. Its zero value is a loop that has not run yet.
type Beat struct{ at atomic.Pointer[time.Time] }

// Mark notes that the loop runs.
func (b *Beat) Mark(now time.Time) { b.at.Store(&now) }

// Last is when the loop last ran; the zero time before that.
func (b *Beat) Last() time.Time {
	if t := b.at.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// Health is what an agent answers to probes and to Prometheus.
type Health struct {
	// Ready reports whether pods can be started, and the problems.
	Ready func() (bool, Problems)
	// Beat is that of the loop that keeps the node as it should be.
	Beat    *Beat
	Now     func() time.Time
	Metrics prometheus.Gatherer
	// Further are what the agent answers beside, by path. It may be nil.
	Further map[string]http.HandlerFunc
}

// Handler serves /healthz (the program works: before the first beat, and for two minutes after each), /readyz (pods can be started; the
// body has the problems) and /metrics.
func (h Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if last := h.Beat.Last(); !last.IsZero() && h.Now().Sub(last) > stuckAfter {
			answer(w, http.StatusInternalServerError, "the node was last compared with what is desired at "+last.Format(time.RFC3339))
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		first, code := "ready", http.StatusOK
		ready, problems := h.Ready()
		if !ready {
			first, code = "not ready", http.StatusServiceUnavailable
		}
		answer(w, code, strings.Join(append([]string{first}, problems.Sentences()...), "\n"))
	})
	for path, handler := range h.Further {
		mux.HandleFunc("GET "+path, handler)
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(h.Metrics, promhttp.HandlerOpts{}))
	return mux
}

// Serve serves until the context ends. It only returns an error if the address cannot be used.
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

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// The reader has gone if this fails.
	_, _ = fmt.Fprintln(w, text)
}
