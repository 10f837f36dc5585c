package topology

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinksHaveBothFamiliesInEveryLab states the addresses that docs/programs/lab.md gives.
func TestLinksHaveBothFamiliesInEveryLab(t *testing.T) {
	for _, f := range []Family{IPv4, IPv6, DualStack} {
		lab, err := New(Options{ControlPlanes: 1, Family: f, Links: 2, DHCP: []int{2}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range lab.Links {
			first, last := l.Leases()
			got = append(got, fmt.Sprint(l.Device(), " ", l.Networks(), " ", l.Outside().Name, " ", l.Outside().Addresses, " ", l.DHCP, " ", first, "-", last))
		}
		want := []string{
			"eth1 [10.90.1.0/24 fd90:1::/64] outside1 [10.90.1.1 fd90:1::1] false 10.90.1.100-10.90.1.199",
			"eth2 [10.90.2.0/24 fd90:2::/64] outside2 [10.90.2.1 fd90:2::1] true 10.90.2.100-10.90.2.199",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("family %s:\n%s", f, diff)
		}
	}
}

// TestExternalHostsAreNoNodes ensures that nothing of cluster nodes applies to them.
func TestExternalHostsAreNoNodes(t *testing.T) {
	lab, err := New(Options{ControlPlanes: 1, Workers: 1, Family: IPv4, Links: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cp-0", "worker-0"}, lab.Names()); diff != "" {
		t.Errorf("nodes:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cp-0", "worker-0", "outside1"}, Topology{Nodes: lab.Machines()}.Names()); diff != "" {
		t.Errorf("machines:\n%s", diff)
	}
	if _, err := lab.Node("outside1"); err == nil {
		t.Error("outside1 is a node of the cluster")
	}
	host, err := lab.Machine("outside1")
	if err != nil || host.Role != Outside {
		t.Errorf("outside1 is %v, %v", host, err)
	}
	if l, err := lab.LinkOf(host); err != nil || l.Number != 1 {
		t.Errorf("outside1 is on link %v, %v", l, err)
	}
	if _, err := lab.LinkOf(lab.Nodes[0]); err == nil {
		t.Error("cp-0 is the host outside of a link")
	}
	if _, err := lab.RemoveWorker("outside1"); err == nil {
		t.Error("outside1 was removed as a worker")
	}
}
