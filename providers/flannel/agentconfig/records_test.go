package agentconfig_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

func TestReservationsAndStatusRoundTrip(t *testing.T) {
	r := agentconfig.Reservation{
		Node: "node-1", UID: "u-1", Subnet: netip.MustParsePrefix("10.1.15.0/24"), PublicIP: netip.MustParseAddr("192.168.0.100"),
	}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"node":"node-1","uid":"u-1","subnet":"10.1.15.0/24","publicIP":"192.168.0.100"}`; string(data) != want {
		t.Errorf("the value is\n%s\nwant\n%s", data, want)
	}
	back, err := agentconfig.DecodeReservation(data)
	if err != nil || cmp.Diff(r, back, netipCompare) != "" {
		t.Errorf("%+v round-trips to %+v, %v", r, back, err)
	}

	s := agentconfig.AgentStatus{
		Node: "node-1", Version: "v1", Subnet: r.Subnet, PublicIP: r.PublicIP, Backend: "host-gw", MTU: 1500, Ready: true, Peers: 2,
		OffLink: []agentconfig.Peer{{Node: "node-3", PublicIP: netip.MustParseAddr("192.168.1.7"), Subnet: netip.MustParsePrefix("10.1.30.0/24")}},
		Errors:  []string{"a <b> & c"},
	}
	data, err = s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "a <b> & c") {
		t.Errorf("sentences are escaped for HTML: %s", data)
	}
	status, err := agentconfig.DecodeAgentStatus(data)
	if err != nil || cmp.Diff(s, status, netipCompare) != "" {
		t.Errorf("%+v round-trips to %+v, %v", s, status, err)
	}
}

func TestDecodeReservationRefusesInvalidReservations(t *testing.T) {
	for _, tt := range []struct{ why, in string }{
		{"nothing", ``},
		{"no node", `{"subnet":"10.1.15.0/24"}`},
		{"no subnet", `{"node":"a"}`},
		{"host bits", `{"node":"a","subnet":"10.1.15.1/24"}`},
		{"IPv6 as the subnet", `{"node":"a","subnet":"fd00::/64"}`},
		{"IPv4 as the IPv6 subnet", `{"node":"a","subnet":"10.1.15.0/24","ipv6Subnet":"10.1.16.0/24"}`},
	} {
		if r, err := agentconfig.DecodeReservation([]byte(tt.in)); err == nil {
			t.Errorf("%s: %s is %+v", tt.why, tt.in, r)
		}
	}
	if _, err := agentconfig.DecodeReservation([]byte(`{"node":"a","subnet":"10.1.15.0/24","new":1}`)); err != nil {
		t.Errorf("a field of a newer version is refused: %v", err)
	}
}

func TestUpstreamFlannelReadsTheNetworkConfig(t *testing.T) {
	c := valid(func(c *agentconfig.Config) {
		c.Backend = agentconfig.Backend{Type: "vxlan", VNI: 7, Port: 8472}
		c.Network.IPv6, c.Network.IPv6SubnetLen = netip.MustParsePrefix("fd00:10::/48"), 64
		c.MTU = 1400
	})
	value, err := c.NetworkConfig()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := subnet.ParseConfig(string(value))
	if err != nil {
		t.Fatal(err)
	}
	if err := subnet.CheckNetworkConfig(parsed); err != nil {
		t.Fatal(err)
	}
	if parsed.Network.String() != "10.128.0.0/14" || parsed.SubnetLen != 23 || !parsed.EnableIPv6 ||
		parsed.IPv6Network.String() != "fd00:10::/48" || parsed.IPv6SubnetLen != 64 || parsed.BackendType != "vxlan" {
		t.Errorf("flannel reads %+v", parsed)
	}
	if want := `{"Type":"vxlan","VNI":7,"Port":8472,"MTU":1450}`; string(parsed.Backend) != want {
		t.Errorf("backend is %s, want %s", parsed.Backend, want)
	}
	if err := c.CheckNetworkConfig(value); err != nil {
		t.Error(err)
	}
	for _, other := range []string{`{`, `{"Network":"10.0.0.0/14","SubnetLen":23,"Backend":{"Type":"vxlan"}}`} {
		if err := c.CheckNetworkConfig([]byte(other)); err == nil {
			t.Errorf("%s passes for another network's configuration", other)
		}
	}
}
