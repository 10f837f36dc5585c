package controller

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// A member that accepts connections and says nothing is stalled: no firewall drops its port.
func TestAStalledMemberIsNotTakenForADroppedPort(t *testing.T) {
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

func TestMembersThatAreDownAreNotBlamedOnFirewalls(t *testing.T) {
	m := record.Membership{Members: []record.Member{
		{Node: "up", ClientURL: "https://192.0.2.1:12379", State: record.Existing},
		{Node: "down", ClientURL: "https://[2001:db8::2]:12379", State: record.Existing},
		{Node: "planned", ClientURL: "https://192.0.2.3:12379", State: record.Promised},
	}}
	down := addresses(m, map[string]error{"down": context.DeadlineExceeded})
	for address, want := range map[string]bool{"192.0.2.1:12379": false, "[2001:db8::2]:12379": true, "192.0.2.3:12379": true} {
		if down[address] != want {
			t.Errorf("%s counts as down: %v, want %v", address, down[address], want)
		}
	}
}
