package netprobe

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/listeners"
)

// serve runs a server on the loopback, and returns its port.
func serve(t *testing.T) int {
	t.Helper()
	packets, listener, err := listeners.UDPAndTCP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, listener, packets) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return port
}

func TestEveryMethodReachesARunningServer(t *testing.T) {
	port := serve(t)
	probes := []Probe{
		{ID: "few by TCP", Way: TCP, Host: "127.0.0.1", Port: port}, {ID: "connect", Way: Connect, Host: "127.0.0.1", Port: port},
		{ID: "few by UDP", Way: UDP, Host: "127.0.0.1", Port: port}, {ID: "many by TCP", Way: TCP, Host: "127.0.0.1", Port: port, Size: Full},
		{ID: "a full datagram", Way: UDP, Host: "127.0.0.1", Port: port, Size: Full}, {ID: "some", Way: UDP, Host: "127.0.0.1", Port: port, Size: 1400},
		{ID: "a name", Way: Name, Host: "localhost"},
	}
	for i, r := range Run(t.Context(), probes) {
		if r.ID != probes[i].ID || r.Error != "" {
			t.Errorf("%s: %+v", probes[i].ID, r)
		}
	}
}

func TestMissingServersAreReported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range Run(t.Context(), []Probe{
		{ID: "no one listens", Way: TCP, Host: "127.0.0.1", Port: port}, {ID: "no one listens to datagrams", Way: UDP, Host: "127.0.0.1", Port: port},
		{ID: "no such way", Way: "pigeon"},
	}) {
		if r.Error == "" {
			t.Errorf("%s succeeds", r.ID)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := Run(ctx, []Probe{{Way: TCP, Host: "127.0.0.1", Port: port}}); !strings.Contains(r[0].Error, "cancel") {
		t.Errorf("%+v", r)
	}
}

// TestNegativeProbeIsRepeatedUntilUnreachable: a policy takes a moment to be effective.
func TestNegativeProbeIsRepeatedUntilUnreachable(t *testing.T) {
	port := serve(t)
	if r := Run(t.Context(), []Probe{{ID: "open", Way: TCP, Host: "127.0.0.1", Port: port, Denied: true}}); r[0].Error != "" || r[0].ID != "open" {
		t.Errorf("%+v", r)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		// It serves two connections, and no more.
		for range 2 {
			if conn, err := listener.Accept(); err == nil {
				_ = conn.Close()
			}
		}
		_ = listener.Close()
	}()
	r := Run(t.Context(), []Probe{{Way: Connect, Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, Denied: true, Patient: true}})
	if !strings.Contains(r[0].Error, "refused") {
		t.Errorf("%+v", r)
	}
}
