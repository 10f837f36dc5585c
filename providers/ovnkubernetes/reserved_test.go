package ovnkubernetes

import (
	"net/netip"
	"testing"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Pods get the addresses after that of the management port: Carries declares those between the first of the block and them.
func TestDeclaredReservedAddressesAreThoseBeforePods(t *testing.T) {
	block := netip.MustParsePrefix("10.1.2.0/24")
	last := block.Addr()
	for range (OVNKubernetes{}).Carries(&operatorv1.NetworkSpec{}).Reserved {
		last = last.Next()
	}
	if want := topology.ManagementAddress(block).Addr(); last != want {
		t.Errorf("the last declared address is %s, and that of the management port is %s", last, want)
	}
}
