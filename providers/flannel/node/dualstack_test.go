package node_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

func TestBothFamiliesHaveRoutes(t *testing.T) {
	for _, backend := range []agentconfig.Backend{
		{Type: agentconfig.BackendHostGW},
		{Type: agentconfig.BackendVXLAN, VNI: 7, Port: 4789},
	} {
		t.Run(backend.Type, func(t *testing.T) {
			seg := newSegment(t)
			one, two := seg.node("node1", "192.168.0.100"), seg.node("node2", "192.168.0.200")
			for m, addr := range map[*machine]string{one: "fd00:99::100/64", two: "fd00:99::200/64"} {
				m.netns.Run("ip", "address", "add", addr, "dev", "eth0", "nodad")
				m.config.Network.IPv6, m.config.Network.IPv6SubnetLen = netip.MustParsePrefix("fd00:10::/48"), 64
				m.config.Backend = backend
				m.ready()
			}
			subnet6 := ipv6Subnet(two)
			want := subnet6.String() + " via fd00:99::200 dev eth0"
			if backend.Type == agentconfig.BackendVXLAN {
				want = subnet6.String() + " via " + subnet6.Addr().String() + " dev flannel-v6.7"
			}
			exists := func() {
				one.until("there is an IPv6 route", func() (string, bool) {
					out := one.netns.Run("ip", "-6", "route")
					return out, strings.Contains(out, want)
				})
			}
			exists()
			one.restoresAtOnce("the IPv6 route is deleted", func() { one.netns.Run("ip", "-6", "route", "del", subnet6.String()) }, exists)
			two.netns.Run("ip", "link", "add", "cni0", "type", "bridge")
			two.netns.Run("ip", "address", "add", subnet6.Addr().Next().String()+"/64", "dev", "cni0", "nodad")
			two.netns.Run("ip", "link", "set", "cni0", "up")
			pings(t, one.netns, subnet6.Addr().Next())
			if status := one.reports("both", func(s agentconfig.AgentStatus) bool { return s.Ready }); !status.IPv6Subnet.IsValid() ||
				status.PublicIPv6.String() != "fd00:99::100" {
				t.Errorf("the report is %+v", status)
			}
		})
	}
}

func ipv6Subnet(m *machine) netip.Prefix {
	m.t.Helper()
	data, err := os.ReadFile(m.config.SubnetFile)
	if err != nil {
		m.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "FLANNEL_IPV6_SUBNET=")
	value, _, _ := strings.Cut(rest, "\n")
	return netip.MustParsePrefix(value).Masked()
}
