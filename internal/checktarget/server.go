// Package checktarget answers connectivity checks: hello, over HTTP, to anyone who asks.
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

// answer is what is said to everybody.
const answer = "Hello, 1.0!\n"

const (
	// patience is how long a client may take to ask, and a connection stays open unused.
	patience = 10 * time.Second
	// headerBytes is how much a client may send.
	headerBytes = 8 << 10
)

// Serve answers on a listener until the context ends. It closes the listener.
func Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           http.HandlerFunc(hello),
		ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: patience,
		MaxHeaderBytes: headerBytes,
		// A check connects and leaves; that is not worth a line for each.
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
	_, _ = io.WriteString(w, answer) // a client that has gone is no error
}
