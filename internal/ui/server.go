// Package ui serves the pages of cno ui on loopback: the documents of package page as JSON, live by server-sent events, and the bundle of
// the web interface.
//
// Only the user who knows the address may use it, since every request uses the permissions of that user in the cluster. So each request must
// have the cookie for which the token of the address is exchanged, name the server's own host, and come from the server's own pages; one that
// changes or tests something must have the key of the session too. Pages load nothing from other servers.
package ui

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/ui/page"
	"github.com/cluster-network-operator/cno/internal/ui/web"
)

// The timeouts of a connection. Streams extend theirs.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10
	maxBody       = 1 << 20
	closing       = 5 * time.Second
)

// Options are the options of a Server.
type Options struct {
	// Source is the source of pages.
	Source page.Source
	// Changed receives a value when objects of the source have changed; nil for an archive.
	Changed <-chan struct{}
	// Follow signals changes of pods and Services, given as namespace/name, until the context ends; nil for an archive.
	Follow func(ctx context.Context, names ...string)
	// Actions changes the cluster; nil for an archive.
	Actions Actions
	// Name is the name of the cluster or archive: a context of the kubeconfig, or a file.
	Name string
	// Version is that of the binary.
	Version string
}

// Server serves pages. Use New to create one.
type Server struct {
	options  Options
	listener net.Listener
	token    string
	tickets  sync.Map // the tokens that work once, as keys
	session  string
	key      string
	hosts    []string
	changes  broadcast
	streams  chan struct{}
}

// New listens on a port of 127.0.0.1; 0 means any free one. Serve handles requests.
func New(ctx context.Context, port int, options Options) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	chosen := listener.Addr().(*net.TCPAddr).Port // the address of a TCP listener
	return &Server{
		options: options, listener: listener, token: rand.Text(), session: rand.Text(), key: rand.Text(), streams: make(chan struct{}, maxStreams),
		hosts: []string{fmt.Sprintf("127.0.0.1:%d", chosen), fmt.Sprintf("localhost:%d", chosen)},
	}, nil
}

// URL returns the address of a page with the token. path is that of a page: "/" or, for example, "/nodes".
func (s *Server) URL(path string) string {
	return s.url(path, s.token)
}

// URLOnce returns the address of a page like URL, with a token that works once.
func (s *Server) URLOnce(path string) string {
	token := rand.Text()
	s.tickets.Store(token, nil)
	return s.url(path, token)
}

func (s *Server) url(path, token string) string {
	return fmt.Sprintf("http://%s%s?%s=%s", s.hosts[0], path, tokenParameter, token)
}

// Serve handles requests until the context ends.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go s.changes.forward(ctx, s.options.Changed)
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

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", web.Assets())
	// The page that leads a browser here has no icon of its own, so browsers may ask for that of the host.
	mux.Handle("GET /favicon.ico", http.RedirectHandler("/assets/icon.svg", http.StatusFound))
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
	mux.HandleFunc("POST /api/v1/hosts", s.post(s.draw))
	mux.HandleFunc("POST /api/v1/connectivity", s.act(s.connectivity))
	return s.guard(http.MaxBytesHandler(mux, maxBody))
}
