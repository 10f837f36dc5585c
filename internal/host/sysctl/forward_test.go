package sysctl_test

import (
	"strings"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// TestForwardIPv6: a host that has its default route from router advertisements keeps listening to them, and one that ignores them does not begin to.
func TestForwardIPv6(t *testing.T) {
	host := netns.New(t, "forward6")
	host.Run("ip", "link", "add", "ra0", "type", "veth", "peer", "name", "static0")
	host.Run("sysctl", "-w", "net.ipv6.conf.ra0.accept_ra=1", "net.ipv6.conf.static0.accept_ra=0")
	if err := ns.WithNetNSPath(host.Path(), func(ns.NetNS) error { return sysctl.ForwardIPv6("/proc/sys") }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ra0.accept_ra": "2", "static0.accept_ra": "0", "all.forwarding": "1", "ra0.forwarding": "1"} {
		if got := host.Run("sysctl", "-n", "net.ipv6.conf."+name); strings.TrimSpace(got) != want {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
}
