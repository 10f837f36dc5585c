package networks

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// TestOtherNetworksMigrateTheMTU applies the rules of a migration to networks other than flannel; TestMTUMigrationsAreValidated has all edits of flannel.
func TestOtherNetworksMigrateTheMTU(t *testing.T) {
	spec := func(n operatorv1.DefaultNetworkDefinition, edits ...func(*operatorv1.NetworkSpec)) *operatorv1.NetworkSpec {
		s := &operatorv1.NetworkSpec{ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"}, DefaultNetwork: n}
		for _, e := range edits {
			e(s)
		}
		return s
	}
	sdn := func(mtu uint32, edits ...func(*operatorv1.NetworkSpec)) *operatorv1.NetworkSpec {
		c := &osv1.OpenShiftSDNConfig{}
		if mtu != 0 {
			c.MTU = new(mtu)
		}
		return spec(operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeOpenShiftSDN, OpenShiftSDNConfig: c}, edits...)
	}
	ovn := func(mtu uint32, mode osv1.IPsecMode, edits ...func(*operatorv1.NetworkSpec)) *operatorv1.NetworkSpec {
		c := &osv1.OVNKubernetesConfig{IPsecConfig: &osv1.IPsecConfig{Mode: mode}}
		if mtu != 0 {
			c.MTU = new(mtu)
		}
		return spec(operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeOVNKubernetes, OVNKubernetesConfig: c}, edits...)
	}
	const off, full = osv1.IPsecModeDisabled, osv1.IPsecModeFull
	unidling := func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.OpenShiftSDNConfig.EnableUnidling = new(false) }
	back, reached := facts.MTUMigration{Active: true, Step: 2, MTU: 1400}, facts.MTUMigration{Active: true, Step: 2, MTU: 1400, Done: true}
	none := facts.MTUMigration{}
	for _, tc := range []struct {
		why           string
		applied, next *operatorv1.NetworkSpec
		progress      facts.MTUMigration
		// want are the field and the rule, and words of the message; empty if it is safe.
		want, message string
	}{
		{"OpenShift SDN: a lower MTU", sdn(1450), sdn(0, migrate(1450, 1400)), none, "", ""},
		{"OpenShift SDN: a higher MTU", sdn(1400), sdn(0, migrate(1400, 1450)), none, "", ""},
		{"OpenShift SDN: from is not what is applied", sdn(1450), sdn(0, migrate(1440, 1400)), none, "spec.migration.mtu.network.from migration-mtu", "set it to 1450"},
		{"OpenShift SDN: to needs longer links", sdn(1450), sdn(0, migrate(1450, 1460)), none, "spec.migration.mtu.network.to migration-mtu", "use 1450 or less"},
		{"OpenShift SDN: something else with it", sdn(1450), sdn(0, migrate(1450, 1400), unidling), none, "spec.defaultNetwork.openshiftSDNConfig.enableUnidling change-during-migration", "nothing else may change"},
		{"OpenShift SDN: the rollback", sdn(1450, migrate(1450, 1400)), sdn(0), back, "", ""},
		{"OpenShift SDN: another change during the rollback", sdn(1450), sdn(0, unidling), back, "spec.defaultNetwork.openshiftSDNConfig.enableUnidling change-during-migration", "nothing else may change"},
		{"OpenShift SDN: the end", sdn(1400, migrate(1450, 1400)), sdn(1400), reached, "", ""},
		{"OpenShift SDN: no migration", sdn(1450), sdn(1400), none, "spec.defaultNetwork.openshiftSDNConfig.mtu openshiftsdn-mtu-change", "cannot change openshift-sdn mtu without migration (spec.migration.mtu)"},
		{"OVN-Kubernetes: a lower MTU", ovn(1400, off), ovn(0, off, migrate(1400, 1350)), none, "", ""},
		{"OVN-Kubernetes: up to what Geneve leaves", ovn(1400, off), ovn(0, off, migrate(1400, 1442)), none, "", ""},
		{"OVN-Kubernetes: to needs longer links", ovn(1400, off), ovn(0, off, migrate(1400, 1443)), none, "spec.migration.mtu.network.to migration-mtu", "use 1442 or less"},
		{"OVN-Kubernetes: up to what Geneve and IPsec leave", ovn(1354, full), ovn(0, full, migrate(1354, 1369)), none, "", ""},
		{"OVN-Kubernetes: to needs longer links with IPsec", ovn(1354, full), ovn(0, full, migrate(1354, 1370)), none, "spec.migration.mtu.network.to migration-mtu", "use 1369 or less"},
		{"OVN-Kubernetes: IPsec is turned on with it", ovn(1400, off), ovn(0, full, migrate(1400, 1350)), none, "spec.defaultNetwork.ovnKubernetesConfig.ipsecConfig.mode change-during-migration", "nothing else may change"},
		{"OVN-Kubernetes: IPsec is turned off during the rollback", ovn(1354, full), ovn(0, off), facts.MTUMigration{Active: true, Step: 2, MTU: 1300}, "spec.defaultNetwork.ovnKubernetesConfig.ipsecConfig.mode change-during-migration", "nothing else may change"},
		{"OVN-Kubernetes: no migration", ovn(1400, off), ovn(1350, off), none, "spec.defaultNetwork.ovnKubernetesConfig.mtu ovn-mtu-change", "cannot change ovn-kubernetes MTU without migration (spec.migration.mtu)"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, err := pipeline.Pipeline{Registry: Registry()}.Run(context.Background(), pipeline.Input{
				Desired: tc.next, Applied: tc.applied,
				Cluster: facts.Cluster{Platform: "None", HostMTU: 1500, NodeCount: 1, NodeAddresses: map[string][]netip.Addr{"n": {netip.MustParseAddr("192.0.2.1")}}, MTUMigration: tc.progress},
			}, pipeline.Check)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, r := range pipeline.RefusalsOf(err) {
				if r.Field+" "+r.Rule == tc.want && strings.Contains(r.Message, tc.message) {
					return
				}
			}
			t.Errorf("%v, want %s: %s", err, tc.want, tc.message)
		})
	}
}
