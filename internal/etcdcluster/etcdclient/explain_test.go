package etcdclient

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"
)

// A member that accepts connections and sends nothing is stalled: no firewall drops its port.
func TestStalledMemberIsNotMistakenForADroppedPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := &connection{target: Target{Timeout: time.Second, TLS: &tls.Config{MinVersion: tls.VersionTLS12}}}
	err = c.explain(context.DeadlineExceeded, "https://"+listener.Addr().String())
	if err == nil || strings.Contains(err.Error(), "firewall") {
		t.Errorf("a stalled member: %v", err)
	}
}
