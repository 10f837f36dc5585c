package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// stuckAfter is how long the loop that keeps the kernel may be silent. It makes a pass every ten seconds.
const stuckAfter = 2 * time.Minute

// handler serves /healthz (the program works), /readyz (pods can be started; the body names what does not work)
// and /metrics. beat is when the kernel was last looked at; zero before that.
func handler(read func() board, beat func() time.Time, now func() time.Time, m *metrics) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if last := beat(); !last.IsZero() && now().Sub(last) > stuckAfter {
			answer(w, http.StatusInternalServerError, "the kernel's routes were last checked "+last.Format(time.RFC3339))
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		b := read()
		lines := append([]string{"ready"}, b.sentences()...)
		code := http.StatusOK
		if !b.status.Ready {
			lines[0], code = "not ready", http.StatusServiceUnavailable
		}
		answer(w, code, strings.Join(lines, "\n"))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// The reader has gone if this fails.
	_, _ = fmt.Fprintln(w, text)
}

// serveHealth serves until the context ends.
func serveHealth(ctx context.Context, address string, h http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve health: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health: %w", err)
	}
	return nil
}
