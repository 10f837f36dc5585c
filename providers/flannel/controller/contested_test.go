package controller

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// TestTwoMachinesWithOneNodeNameAreReported: each takes the lease from the other, and both would continue silently.
func TestTwoMachinesWithOneNodeNameAreReported(t *testing.T) {
	now := time.Unix(1e9, 0)
	c := New(Deps{Now: func() time.Time { return now }})
	subnet := netip.MustParsePrefix("10.128.2.0/23")
	look := func(address string) *status.Finding {
		t.Helper()
		s := store{reservations: map[string]reservation{"node-1": {Reservation: agentconfig.Reservation{Node: "node-1", Subnet: subnet}}}}
		if address != "" {
			s.leases = []lease{{subnet: subnet, publicIP: netip.MustParseAddr(address)}}
		}
		p := reconciliation{Controller: c, Run: c.manager.Start(etcdmanager.Inputs{})}
		p.contested(s)
		if len(p.Findings) == 0 {
			return nil
		}
		return &p.Findings[0]
	}
	for i, address := range []string{"192.0.2.1", "192.0.2.1", "", "192.0.2.2", "192.0.2.1"} {
		if f := look(address); f != nil {
			t.Errorf("a node that moved to another address and back, lease %d: %+v", i, f)
		}
	}
	f := look("192.0.2.2")
	if f == nil || f.Reason != "NodeNameContested" || !strings.Contains(f.Message, "the lease of node node-1 (10.128.2.0/23) changes between the addresses 192.0.2.1 and 192.0.2.2. Two machines") {
		t.Fatalf("the third change: %+v", f)
	}
	now = now.Add(contestWindow)
	if f := look("192.0.2.2"); f != nil {
		t.Errorf("one of the machines was stopped: %+v", f)
	}
}
