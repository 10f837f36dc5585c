package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// piped returns a client and the server's end of its connection.
func piped(t *testing.T, o Options) (*Client, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	c := newClient(near, o.withDefaults())
	t.Cleanup(func() { _ = c.Close(); _ = far.Close() })
	return c, far
}

func TestCallsEndWithTheirContextAndWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, far := piped(t, Options{})
		go func() { _, _ = io.Copy(io.Discard, far) }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Transact(ctx, db); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("unanswered call: %v", err)
		}
		failed := make(chan error)
		go func() {
			_, err := c.Transact(t.Context(), db)
			failed <- err
		}()
		synctest.Wait()
		_ = far.Close()
		if err := <-failed; !errors.Is(err, io.EOF) {
			t.Errorf("a call on a connection that ends: %v", err)
		}
		if _, err := c.Transact(t.Context(), db); !errors.Is(err, io.EOF) {
			t.Errorf("a call after the end: %v", err)
		}
	})
}

func TestCallsDoNotWaitForAServerThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := piped(t, Options{ProbeInterval: time.Second})
		for range 2 { // the second one does not get to the writer
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, err := c.Transact(ctx, db); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("call: %v", err)
			}
			cancel()
		}
		<-c.Done()
	})
}

func TestServerThatProbesIsAnswered(t *testing.T) {
	_, far := piped(t, Options{})
	go func() { _, _ = far.Write([]byte(`{"id":"echo","method":"echo","params":["x"]}`)) }()
	var answer map[string]any
	if err := json.NewDecoder(far).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"id": "echo", "result": []any{"x"}, "error": nil}, answer); diff != "" {
		t.Error(diff)
	}
}

func TestSilentServerIsProbedAndDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, far := piped(t, Options{ProbeInterval: time.Minute})
		began, decoder, probes := time.Now(), json.NewDecoder(far), 0
		go func() {
			for {
				var m message
				if decoder.Decode(&m) != nil {
					return
				}
				if probes++; probes <= 3 {
					_, _ = far.Write([]byte(`{"id":"probe","result":[],"error":null}`))
				}
			}
		}()
		<-c.Done()
		synctest.Wait()
		if !errors.Is(c.Err(), ErrInactive) {
			t.Errorf("the connection ends with %v", c.Err())
		}
		// Three answered probes, each two minutes after the one before, as an answer counts for its interval.
		if lived := time.Since(began); probes != 4 || lived < 5*time.Minute || lived > 10*time.Minute {
			t.Errorf("given up after %s and %d probes", lived, probes)
		}
	})
}

func TestTooLargeMessagesAreRefused(t *testing.T) {
	c, far := piped(t, Options{MaxMessage: 10_000})
	_, err := c.Transact(t.Context(), db, Insert("T", "", map[string]any{"name": strings.Repeat("x", 10_000)}))
	if !errors.Is(err, ErrTooLarge) || c.Err() != nil {
		t.Errorf("sending: %v; the connection: %v", err, c.Err())
	}
	go func() {
		for range 10 { // together more than one may have
			_, _ = far.Write([]byte(`{"id":"?","result":"` + strings.Repeat("x", 5_000) + `","error":null}`))
		}
		_, _ = far.Write([]byte(`{"id":"?","result":"`))
		for {
			if _, err := far.Write([]byte(strings.Repeat("x", 1_000))); err != nil {
				return
			}
		}
	}()
	<-c.Done()
	if !errors.Is(c.Err(), ErrTooLarge) {
		t.Errorf("receiving: %v", c.Err())
	}
}

func TestUpdatesWithoutAReaderEndTheConnectionAtTheLimit(t *testing.T) {
	c, far := piped(t, Options{MaxMessage: 10_000})
	id, _, err := c.subscribe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := far.Write([]byte(`{"method":"update","id":null,"params":["` + id + `",{"T":"` + strings.Repeat("x", 1_000) + `"}]}`)); err != nil {
				return
			}
		}
	}()
	<-c.Done()
	if !errors.Is(c.Err(), ErrSlowReader) {
		t.Error(c.Err())
	}
}

func TestEndpoints(t *testing.T) {
	for _, tt := range []struct {
		list, reason string
		want         []Endpoint
		errors       []string
	}{
		{"unix:/run/db.sock", "a socket", []Endpoint{{Network: "unix", Address: "/run/db.sock"}}, nil},
		{"ssl:192.0.2.1:6641, tcp:[2001:db8::1]:6641", "a cluster, IPv6, and a space",
			[]Endpoint{{Network: "tcp", Address: "192.0.2.1:6641", TLS: true}, {Network: "tcp", Address: "[2001:db8::1]:6641"}}, nil},
		{"", "empty", nil, []string{`endpoint "": must be unix:PATH`}},
		{"tcp:db.example:6641,unix:db.sock,udp:1.2.3.4:5,ssl:192.0.2.1,tcp:192.0.2.1:0", "every problem is named",
			nil, []string{`"tcp:db.example:6641": an IP address`, `"unix:db.sock": the path`, `"udp:1.2.3.4:5": must be`, `"ssl:192.0.2.1": an IP`, `6641`}},
		{"tcp:2001:db8::1:6641", "IPv6 without brackets is ambiguous", nil, []string{"tcp:[2001:db8::1]:6641"}},
	} {
		got, err := ParseEndpoints(tt.list)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != (tt.errors != nil) {
			t.Errorf("%s: %v, error %v", tt.reason, got, err)
		}
		for _, text := range tt.errors {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: the error lacks %q: %v", tt.reason, text, err)
			}
		}
		for _, e := range got {
			if again, err := ParseEndpoints(e.String()); err != nil || again[0] != e {
				t.Errorf("%s: %s is read as %v, %v", tt.reason, e, again, err)
			}
		}
	}
}

func TestConnectTriesEveryEndpointAndNamesAll(t *testing.T) {
	dir := t.TempDir()
	_, err := Connect(t.Context(), []Endpoint{Unix(filepath.Join(dir, "a")), {Network: "tcp", Address: "127.0.0.1:1", TLS: true}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "unix:"+dir) || !strings.Contains(err.Error(), "ssl:127.0.0.1:1: no TLS configuration") {
		t.Error(err)
	}
	c, err := Connect(t.Context(), []Endpoint{Unix(filepath.Join(dir, "a")), Unix(server(t))}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
