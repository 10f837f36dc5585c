package ovsdb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// running starts a session, and checks at the end of the test that it ends with its context.
func running(t *testing.T, s *Session) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the session ends with %v", err)
		}
	})
}

// client waits for the next connection after one that may be nil.
func (s *Session) after(t *testing.T, before *Client) *Client {
	t.Helper()
	var c *Client
	eventually.Is(t, "a new connection", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var err error
		if c, err = s.Client(ctx); err != nil {
			t.Fatal(err)
		}
		return c != before
	})
	return c
}

func TestSessionConnectsAgainAfterTheServerIsKilled(t *testing.T) {
	for _, kind := range []func(testing.TB, string) *realServer{standalone, clustered} {
		real := kind(t, "/usr/share/openvswitch/vswitch.ovsschema")
		real.start()
		s := &Session{Endpoints: []Endpoint{Unix(filepath.Join(real.dir, "none")), Unix(real.socket)}, Database: db, LeaderOnly: true}
		running(t, s)
		first := s.after(t, nil)
		if _, err := first.Transact(t.Context(), db, Insert("Open_vSwitch", "", map[string]any{"next_cfg": 7})); err != nil {
			t.Fatal(err)
		}
		real.kill()
		<-first.Done()
		real.start()
		rows, err := s.after(t, first).Transact(t.Context(), db, Select("Open_vSwitch", []string{"next_cfg"}))
		if err != nil || rows[0].Rows[0].Int("next_cfg") != 7 {
			t.Errorf("after the restart: %v, %v", rows, err)
		}
	}
}

func TestSessionAcceptsOnlySuitableMembers(t *testing.T) {
	member := func(name string, connected, leader bool, index int) Row {
		return rowOf(t, map[string]any{"name": name, "model": "clustered", "connected": connected, "leader": leader, "index": index,
			"cid": UUID("00000000-0000-0000-0000-000000000001")})
	}
	s := &Session{Database: db, LeaderOnly: true}
	for _, tt := range []struct {
		reason string
		row    Row
		ok     bool
	}{
		{"the leader", member(db, true, true, 10), true},
		{"a follower", member(db, true, false, 11), false},
		{"a member without a majority", member(db, false, true, 11), false},
		{"a member that is behind what was seen", member(db, true, true, 9), false},
		{"as current as the one before", member(db, true, true, 10), true},
		{"a server without a cluster", rowOf(t, map[string]any{"name": db, "model": "standalone"}), true},
	} {
		if err := s.suitable(tt.row); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.reason, err)
		}
	}
	s.LeaderOnly = false
	if err := s.suitable(member(db, true, false, 12)); err != nil {
		t.Errorf("a follower, where any member is accepted: %v", err)
	}
}

func TestSessionRefusesAServerWithoutTheDatabase(t *testing.T) {
	reports := make(chan error, 100)
	s := &Session{Endpoints: []Endpoint{Unix(server(t))}, Database: "OVN_Northbound", Report: func(_ Endpoint, err error) {
		select {
		case reports <- err:
		default:
		}
	}}
	running(t, s)
	if err := <-reports; err == nil || err.Error() != "the ovsdb server does not serve the database OVN_Northbound" {
		t.Error(err)
	}
}

func TestSessionBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		s := &Session{Endpoints: []Endpoint{{Network: "tcp", Address: "127.0.0.1:1", TLS: true}}, // fails before it connects
			Report: func(Endpoint, error) { attempts++ }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if attempts < 450 || attempts > 920 { // one in 4 to 8 seconds
			t.Errorf("%d attempts in an hour", attempts)
		}
	})
}

// identity is what one end of a TLS connection has: files of its CA, certificate and key.
func identity(t *testing.T, ca *certs.CA) (dir string, pair certs.Pair) {
	t.Helper()
	pair, err := ca.Issue(certs.Request{CommonName: "ovn", Names: []string{"ovn"}, Usage: certs.Peer, Life: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, content := range map[string][]byte{"ca": ca.Pair().Certificate, "cert": pair.Certificate, "key": pair.Key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, pair
}

func TestRotatedCertificatesAreUsedAtTheNextConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // reserves a port
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, port, _ := net.SplitHostPort(address)
	real := standalone(t, "/usr/share/openvswitch/vswitch.ovsschema")
	var config atomic.Pointer[tls.Config]
	rotate := func() { // another CA on both sides
		ca, err := certs.NewCA("ca", time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		dir, pair := identity(t, ca)
		certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AddCert(ca.Certificate())
		config.Store(&tls.Config{ServerName: "ovn", RootCAs: pool, Certificates: []tls.Certificate{certificate}})
		real.more = []string{"--remote=pssl:" + port + ":127.0.0.1", "--ca-cert=" + filepath.Join(dir, "ca"),
			"--certificate=" + filepath.Join(dir, "cert"), "--private-key=" + filepath.Join(dir, "key")}
		real.kill()
		real.start()
	}
	rotate()
	s := &Session{Endpoints: []Endpoint{{Network: "tcp", Address: address, TLS: true}}, Database: db,
		Options: Options{TLS: func() (*tls.Config, error) { return config.Load(), nil }}}
	running(t, s)
	first := s.after(t, nil)
	rotate()
	if _, err := s.after(t, first).Transact(t.Context(), db, Select("Open_vSwitch", []string{"_uuid"})); err != nil {
		t.Error(err)
	}
}
