// Package ui serves the pages of cno ui on loopback: the documents of package page as JSON, live by server-sent events, and the bundle that
// shows them.
//
// Only the user who was given the address may use it, since every request is made with the permissions of that user in
// the cluster. So each request must carry the cookie that is given in exchange for the token of the address, name the server's own host,
// and come from the server's own pages; the package loads nothing from elsewhere.
package ui

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/cluster-network-operator/cno/internal/ui/page"
	"github.com/cluster-network-operator/cno/internal/ui/web"
)

// The limits of a connection. Answers that are streams extend theirs.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10
	maxBody       = 1 << 20
	closing       = 5 * time.Second
)

// Options say what is served.
type Options struct {
	// Source is what pages are made of.
	Source page.Source
	// Changed receives a value when objects of the source have changed; nil for an archive.
	Changed <-chan struct{}
	// Actions changes the cluster; nil for an archive.
	Actions Actions
	// Name is what is looked at, for people: a context of the kubeconfig, or the file of an archive.
	Name string
	// Version is that of this program.
	Version string
}

// Server serves pages. New makes one.
type Server struct {
	options  Options
	listener net.Listener
	token    string
	session  string
	hosts    []string
	changes  broadcast
	streams  chan struct{}
}

// New listens on a port of 127.0.0.1; 0 is any free one. Serve answers requests.
func New(ctx context.Context, port int, options Options) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	chosen := listener.Addr().(*net.TCPAddr).Port // a listener of TCP has such an address
	return &Server{
		options: options, listener: listener, token: rand.Text(), session: rand.Text(), streams: make(chan struct{}, maxStreams),
		hosts: []string{fmt.Sprintf("127.0.0.1:%d", chosen), fmt.Sprintf("localhost:%d", chosen)},
	}, nil
}

// URL is the address to open, with the token, and with the path of a page: "/" or, for example, "/nodes".
func (s *Server) URL(path string) string {
	return fmt.Sprintf("http://%s%s?%s=%s", s.hosts[0], path, tokenParameter, s.token)
}

// Serve answers requests until the context ends.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go s.changes.follow(ctx, s.options.Changed)
	done := make(chan error, 1)
	go func() { done <- server.Serve(s.listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	if err := server.Shutdown(limited); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("end: %w", err)
	}
	return nil
}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", web.Assets())
	for _, path := range web.Paths() {
		mux.Handle("GET "+path, web.Page())
	}
	mux.HandleFunc("GET /api/v1/session", s.serveSession)
	mux.HandleFunc("GET /api/v1/events", s.serveEvents)
	mux.HandleFunc("GET /api/v1/{page}", s.serveDocument)
	mux.HandleFunc("GET /api/v1/{page}/{name}", s.serveDocument)
	mux.HandleFunc("POST /api/v1/plan", s.act(s.plan))
	mux.HandleFunc("POST /api/v1/apply", s.act(s.apply))
	mux.HandleFunc("POST /api/v1/rollback", s.act(s.rollback))
	mux.HandleFunc("POST /api/v1/connectivity", s.act(s.connectivity))
	return s.guard(http.MaxBytesHandler(mux, maxBody))
}
