package checkendpoints

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/metricsserver"
)

func TestSampleNamesTheFailedStep(t *testing.T) {
	target := listen(t, "127.0.0.1:0").Addr().String()
	_, port, _ := net.SplitHostPort(target)
	resolve := func(_ context.Context, host string) ([]string, error) {
		if host == "api.example.com" {
			return []string{"127.0.0.2", "127.0.0.1"}, nil // the first one has no one who listens
		}
		return nil, errors.New("no such host")
	}
	for _, tc := range []struct {
		why, endpoint                 string
		resolved, resolveErr, connErr bool
	}{
		{"an address", target, false, false, false},
		{"a name, the second of whose addresses answers", "api.example.com:" + port, true, false, false},
		{"a name that no one knows", "gone.example.com:443", true, true, false},
		{"a port that no one listens on", "127.0.0.1:1", false, false, true},
		{"not an endpoint", "nonsense", false, false, true},
	} {
		s := Connector{Resolve: resolve}.sample(t.Context(), "x", tc.endpoint, time.Now)
		if (s.Resolved > 0) != tc.resolved || (s.ResolveErr != nil) != tc.resolveErr || (s.ConnectErr != nil) != tc.connErr ||
			s.Reached() == (tc.resolveErr || tc.connErr) {
			t.Errorf("%s: %+v", tc.why, s)
		}
	}
}

func TestSampleTimesOut(t *testing.T) {
	silent := Connector{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if s := silent.sample(ctx, "x", "192.0.2.1:443", time.Now); !errors.Is(s.ConnectErr, context.DeadlineExceeded) {
		t.Errorf("%+v", s)
	}
	// A server that accepts and sends nothing has been reached.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if s := (Connector{}).sample(ctx, "x", l.Addr().String(), time.Now); !s.Reached() {
		t.Errorf("%+v", s)
	}
}

func TestServersWithTLSSeeACompleteHandshake(t *testing.T) {
	own, err := metricsserver.SelfSigned("test")
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	shaken := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
		shaken <- err
	}()
	if s := (Connector{}).sample(t.Context(), "x", l.Addr().String(), time.Now); !s.Reached() {
		t.Errorf("%+v", s)
	}
	if err := <-shaken; err != nil {
		t.Errorf("the server returns: %v", err)
	}
}
