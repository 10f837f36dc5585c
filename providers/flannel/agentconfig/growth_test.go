package agentconfig_test

import (
	"net/netip"
	"testing"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

func TestANetworkThatGrowsIsTheSameNetwork(t *testing.T) {
	at := func(network string) agentconfig.Config {
		return valid(func(c *agentconfig.Config) { c.Network.IPv4 = netip.MustParsePrefix(network) })
	}
	for _, tt := range []struct {
		why, etcd, node string
		same            bool
		open            string
	}{
		{"nothing changes", "10.128.0.0/14", "10.128.0.0/14", true, "10.128.0.0/14"},
		{"the node knows it first: it chooses from what all know", "10.128.0.0/14", "10.128.0.0/12", true, "10.128.0.0/14"},
		{"a node that was unavailable learns it last", "10.128.0.0/12", "10.128.0.0/14", true, "10.128.0.0/14"},
		{"another base is another network", "10.132.0.0/14", "10.128.0.0/12", false, "10.128.0.0/12"},
	} {
		value, err := at(tt.etcd).NetworkConfig()
		if err != nil {
			t.Fatal(err)
		}
		if err := at(tt.node).CheckNetworkConfig(value); (err == nil) != tt.same {
			t.Errorf("%s: %v", tt.why, err)
		}
		if got := at(tt.node).Open(value).String(); got != tt.open {
			t.Errorf("%s: subnets are chosen from %s, want %s", tt.why, got, tt.open)
		}
	}
	if got := at("10.128.0.0/14").Open(nil).String(); got != "10.128.0.0/14" {
		t.Errorf("with an empty etcd subnets are chosen from %s", got)
	}
}
