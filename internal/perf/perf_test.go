package perf

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// server runs a server on the loopback, and returns its address.
func server(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func TestAPathIsMeasured(t *testing.T) {
	r, err := Measure(t.Context(), server(t), 50*time.Millisecond)
	if err != nil || r.Gbps <= 0 || r.RTTp50 <= 0 || r.RTTp99 < r.RTTp50 || r.Connections <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAPathWithoutAServerIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Measure(t.Context(), address, time.Millisecond); err == nil || !strings.Contains(err.Error(), "measure throughput") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ctx, server(t), time.Second); err == nil {
		t.Error("a canceled measurement is no error")
	}
}

func TestUnknownClientsAreDisconnected(t *testing.T) {
	c, err := net.Dial("tcp", server(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("the server answers %d bytes", n)
	}
}
