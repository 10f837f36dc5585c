package imageserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serving has the parameters of Run.
type Serving struct {
	Listener net.Listener
	// Certificate and Key are files; if both are empty, Run serves plain HTTP. They are read for each connection, so that they can be replaced without
	// a restart.
	Certificate, Key string
	// Interval is the interval of scans.
	Interval time.Duration
}

// grace is how long downloads may continue during a shutdown. Hosts request missing parts again.
const grace = 5 * time.Second

// Run scans the directory and serves until ctx ends, which is no error. The first scan must succeed.
func (s *Server) Run(ctx context.Context, how Serving) error {
	if err := s.Scan(); err != nil {
		return err
	}
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       stall,
		MaxHeaderBytes:    16 << 10,
	}
	if how.Certificate != "" {
		server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(how.Certificate, how.Key)
			return &pair, err
		}}
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(server, how.Listener) }()
	ticker := time.NewTicker(how.Interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("serve images: %w", err)
		case <-ticker.C:
			if err := s.Scan(); err != nil {
				s.options.Log.Error("cannot read documents; keeping the current images", "error", err)
			}
		case <-ctx.Done():
			return stop(server, ended)
		}
	}
}

func serve(server *http.Server, l net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(l, "", "")
	}
	return server.Serve(l)
}

// stop shuts the server down, and ends downloads after grace.
func stop(server *http.Server, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	if err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return nil
}
