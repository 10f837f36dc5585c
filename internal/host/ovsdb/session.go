package ovsdb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Session maintains a connection to one of several endpoints: the members of a cluster, or the possible places of a database. The fields must not change
// after Run has started.
type Session struct {
	// Endpoints are tried in turn.
	Endpoints []Endpoint
	Options   Options
	// Database must be served by the server; a member of a cluster must be connected to its cluster, and at least as current as
	// the member before. Empty: every server is accepted.
	Database string
	// LeaderOnly accepts only the leader of a clustered database.
	LeaderOnly bool
	// Serve is called for each new connection, which is closed when it returns. Its context ends with the connection. It may be nil.
	Serve func(context.Context, *Client) error
	// Report is called with the reason why a connection failed or ended. It may be nil.
	Report func(Endpoint, error)

	mu        sync.Mutex
	client    *Client
	connected chan struct{} // closed when client is set
	indexes   map[string]int
}

// Run maintains a connection until the context ends, and returns the error of the context. It leaves no goroutines.
func (s *Session) Run(ctx context.Context) error {
	if len(s.Endpoints) == 0 {
		return errors.New("connect to ovsdb: the list of endpoints is empty")
	}
	o := s.Options.withDefaults()
	pause, tried := o.MinBackoff, 0
	for at := 0; ; at = (at + 1) % len(s.Endpoints) {
		began := time.Now()
		if err := s.connectAndServe(ctx, s.Endpoints[at], o); err != nil && ctx.Err() == nil && s.Report != nil {
			s.Report(s.Endpoints[at], err)
		}
		if time.Since(began) >= o.ConnectTimeout+o.MaxBackoff { // it was connected for some time
			pause, tried = o.MinBackoff, 0
		} else if tried++; tried >= len(s.Endpoints) {
			if !sleep(ctx, pause/2+rand.N(pause/2+1)) {
				return ctx.Err()
			}
			pause, tried = min(2*pause, o.MaxBackoff), 0
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// connectAndServe connects to an endpoint, and serves the connection until it ends.
func (s *Session) connectAndServe(ctx context.Context, e Endpoint, o Options) error {
	c, err := Connect(ctx, []Endpoint{e}, o)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { c.fail(ctx.Err()) })
	defer stop()
	if err := s.admit(ctx, c, o); err != nil {
		return err
	}
	s.publish(c)
	defer s.withdraw()
	if s.Serve == nil {
		<-c.Done()
		return c.Err()
	}
	// A new context, because the AfterFunc above must see the reason in ctx.
	serving, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.spawn(func() { <-c.Done(); cancel() }); err != nil {
		return err
	}
	if err := s.Serve(serving, c); err != nil && c.Err() == nil {
		return err
	}
	return c.Err()
}

// Client returns the current connection; it waits for one while there is none.
func (s *Session) Client(ctx context.Context) (*Client, error) {
	for {
		s.mu.Lock()
		c := s.client
		if s.connected == nil {
			s.connected = make(chan struct{})
		}
		connected := s.connected
		s.mu.Unlock()
		if c != nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a connection to ovsdb: %w", ctx.Err())
		case <-connected:
		}
	}
}

func (s *Session) publish(c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = c
	if s.connected != nil {
		close(s.connected)
		s.connected = nil
	}
}

func (s *Session) withdraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = nil
}
