package definition_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/multinet/definition"
	"github.com/cluster-network-operator/cno/internal/multinet/definition/definitiontest"
)

// tenants has what hostile definitions of the namespace tenant are about.
var tenants = definitiontest.Cluster{
	Namespace: "tenant", Network: "pods", Bridge: "cni0", Plugin: "pod-network", Uplink: "eth0", Master: "eth1", Pod: "10.128.0.9", Service: "172.30.1.1", Node: "192.0.2.7",
}

func TestHostileDefinitionsAreRefused(t *testing.T) {
	trust := definition.Rules{DefaultNetwork: tenants.Network, ReservedBridges: []string{tenants.Bridge}, ReservedPlugins: []string{tenants.Plugin}, Uplinks: []string{tenants.Uplink}}
	restricted := trust
	restricted.Restricted = &definition.Restricted{Namespace: tenants.Namespace, Masters: []string{tenants.Master}}
	for _, network := range []string{tenants.Pod + "/14", tenants.Service + "/16", "fd01::/48", tenants.Node + "/24"} {
		restricted.Restricted.Networks = append(restricted.Restricted.Networks, netip.MustParsePrefix(network).Masked())
	}
	for _, row := range definitiontest.Hostile(tenants) {
		t.Run(row.Why, func(t *testing.T) {
			_, narrow := definition.Parse(tenants.Namespace, "x", row.Config, restricted)
			_, trusted := definition.Parse(tenants.Namespace, "x", row.Config, trust)
			errs := trusted
			if row.Restricted {
				errs = narrow
			}
			if len(narrow) == 0 || len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), row.Want) {
				t.Errorf("%v, want %q", errs.ToAggregate(), row.Want)
			}
			if row.Restricted && len(trusted) > 0 {
				t.Errorf("a trusted definition is refused: %v", trusted.ToAggregate())
			}
		})
	}
}
