package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// TestExternalHostsHaveNoClusterCredentials: what runs there is no component, and could not be trusted with a certificate.
func TestExternalHostsHaveNoClusterCredentials(t *testing.T) {
	lab, err := topology.New(topology.Options{ControlPlanes: 1, Workers: 1, Family: topology.IPv4, Links: 2, DHCP: []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	hosts := lab.OutsideHosts()
	for _, f := range OutsideFiles(hosts[1]) {
		if !slices.Contains([]string{"/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}, f.Path) {
			t.Errorf("it has %s", f.Path)
		}
		if f.Path == "/etc/hosts" && (!strings.Contains(string(f.Data), "fd90:2::1 outside2\n") || strings.Contains(string(f.Data), "10.89.")) {
			t.Errorf("%s is\n%s", f.Path, f.Data)
		}
	}
	if units := Units(lab, hosts[0]); len(units) != 0 {
		t.Errorf("without DHCP, %v run", units)
	}
	units := Units(lab, hosts[1])
	if len(units) != 1 || !slices.Contains(units[0].Args, "--dhcp-range=10.90.2.100,10.90.2.199,2m") {
		t.Errorf("with DHCP, %v run", units)
	}
}
