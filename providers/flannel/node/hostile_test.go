package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// TestRoutesAreKeptWhenAnotherClientWritesInvalidLeases writes to etcd what a client that may write every lease can, while two
// agents run: one is in the way of each lease.
func TestRoutesAreKeptWhenAnotherClientWritesInvalidLeases(t *testing.T) {
	seg := newSegment(t)
	one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
	one.ready()
	two.ready()
	one.hasRoute(to(two), true)
	two.hasRoute(to(one), true)
	before := one.routes()
	base := two.subnet().Addr().String()
	octets := strings.Split(base, ".")
	upper := fmt.Sprintf("%s.%s.%s.128", octets[0], octets[1], octets[2])
	for _, subnet := range []string{base + "-25", upper + "-25", "10.1.0.0-16", base + "-32", base + "-24&fd00:10::-64"} {
		seg.put(prefix+"/subnets/"+subnet, `{"PublicIP":"192.168.0.66","PublicIPv6":null,"BackendType":"host-gw"}`)
	}
	one.reports("the rejected leases", func(s agentconfig.AgentStatus) bool {
		return s.Peers == 1 && strings.Contains(strings.Join(s.Errors, " "), "and 2 more")
	})
	one.until("the metric counts them", func() (string, bool) {
		out, err := one.netns.Try("curl", "-sf", "http://127.0.0.1:19099/metrics")
		return out, err == nil && strings.Contains(out, "\nflanneld_leases_rejected 5\n")
	})
	if after := one.routes(); !slices.Equal(before, after) {
		t.Errorf("routes were\n%s\nand are\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}

	// A node that starts in the middle of it comes to the same.
	three := seg.node("node3", "192.168.0.30")
	three.ready()
	three.hasRoute(to(one), true)
	three.hasRoute(to(two), true)
	if routes := strings.Join(three.routes(), "\n"); strings.Contains(routes, "192.168.0.66") {
		t.Errorf("a route leads to the other client:\n%s", routes)
	}
	one.hasRoute(to(three), true)
}
