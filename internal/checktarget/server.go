// Package checktarget is the target of connectivity checks: an HTTP server with a fixed response.
package checktarget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// answer is the response to all requests.
const answer = "Hello, 1.0!\n"

const (
	// patience is the read timeout and the idle timeout.
	patience = 10 * time.Second
	// headerBytes is the maximum size of the header of a request.
	headerBytes = 8 << 10
)

// Serve handles requests of a listener until the context ends. It closes the listener.
func Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           http.HandlerFunc(hello),
		ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: patience,
		MaxHeaderBytes: headerBytes,
		// Checks only connect, which would be logged as an error each time.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	stop := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(ending) != nil {
			_ = server.Close()
		}
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, answer) // a closed connection is no error
}
