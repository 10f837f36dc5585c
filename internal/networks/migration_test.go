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

// withMTU is a network of type Flannel with the vxlan backend, and with an edit.
func withMTU(mtu uint32, edits ...func(*operatorv1.NetworkSpec)) *operatorv1.NetworkSpec {
	s := &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}},
		ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel, FlannelConfig: &operatorv1.FlannelConfig{Backend: operatorv1.FlannelBackendVXLAN}},
	}
	if mtu != 0 {
		s.DefaultNetwork.FlannelConfig.MTU = new(mtu)
	}
	for _, e := range edits {
		e(s)
	}
	return s
}

func migrate(from, to uint32) func(*operatorv1.NetworkSpec) {
	return func(s *operatorv1.NetworkSpec) {
		s.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{Network: &osv1.MTUMigrationValues{From: new(from), To: new(to)}}}
	}
}

func TestMTUMigrationsAreValidated(t *testing.T) {
	debug := func(s *operatorv1.NetworkSpec) { s.LogLevel = osv1.Debug }
	logs := func(s *operatorv1.NetworkSpec) { s.OperatorLogLevel = osv1.Debug }
	grown := func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.244.0.0/15" }
	machine := func(s *operatorv1.NetworkSpec) {
		s.Migration.MTU.Machine = &osv1.MTUMigrationValues{To: new(uint32(1450))}
	}
	back := facts.MTUMigration{Active: true, Step: 2, MTU: 1400}
	reached := facts.MTUMigration{Active: true, Step: 2, MTU: 1400, Done: true}
	for _, tc := range []struct {
		why           string
		applied, next *operatorv1.NetworkSpec
		progress      facts.MTUMigration
		// want are the field and the rule, and a word of the message; empty if it is safe.
		want, message string
	}{
		{"a lower MTU", withMTU(1450), withMTU(0, migrate(1450, 1400)), facts.MTUMigration{}, "", ""},
		{"a higher MTU", withMTU(1400), withMTU(0, migrate(1400, 1450)), facts.MTUMigration{}, "", ""},
		{"the old MTU may stay in the specification", withMTU(1450), withMTU(1450, migrate(1450, 1400)), facts.MTUMigration{}, "", ""},
		{"from is not what is applied", withMTU(1450), withMTU(0, migrate(1440, 1400)), facts.MTUMigration{}, "spec.migration.mtu.network.from migration-mtu", "is not the applied MTU; set it to 1450"},
		{"to is too small", withMTU(1450), withMTU(0, migrate(1450, 500)), facts.MTUMigration{}, "spec.migration.mtu.network.to migration-mtu", "it must be 576 to 65535"},
		{"to needs longer links", withMTU(1450), withMTU(0, migrate(1450, 1460)), facts.MTUMigration{}, "spec.migration.mtu.network.to migration-mtu", "use 1450 or less"},
		{"from and to are the same", withMTU(1450), withMTU(0, migrate(1450, 1450)), facts.MTUMigration{}, "spec.migration.mtu.network.to migration-mtu", "the same as from"},
		{"nothing is set", withMTU(1450), withMTU(0, func(s *operatorv1.NetworkSpec) {
			s.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{}}
		}), facts.MTUMigration{}, "spec.migration.mtu.network migration-mtu", "both required"},
		{"machines", withMTU(1450), withMTU(0, migrate(1450, 1400), machine), facts.MTUMigration{}, "spec.migration.mtu.machine migration-mtu", "does not change the links of machines"},
		{"the MTU itself is set to something else", withMTU(1450), withMTU(1300, migrate(1450, 1400)), facts.MTUMigration{}, "spec.defaultNetwork.flannelConfig.mtu migration-mtu", "must be left out, or be 1450 or 1400"},
		{"something else with it", withMTU(1450), withMTU(0, migrate(1450, 1400), debug), facts.MTUMigration{}, "spec.logLevel change-during-migration", "put the old value back, and change it once"},
		{"something else during it", withMTU(1450, migrate(1450, 1400)), withMTU(0, migrate(1450, 1400), debug), facts.MTUMigration{}, "spec.logLevel change-during-migration", "put the old value back, and change it once"},
		{"another change during the rollback", withMTU(1450), withMTU(0, debug), back, "spec.logLevel change-during-migration", "put the old value back, and change it once"},
		{"what restarts nothing", withMTU(1450, migrate(1450, 1400)), withMTU(0, migrate(1450, 1400), logs), facts.MTUMigration{}, "", ""},
		{"a pool during it", withMTU(1450, migrate(1450, 1400)), withMTU(0, migrate(1450, 1400), grown), facts.MTUMigration{}, "spec.clusterNetwork change-during-migration", "nothing else may change during an MTU migration"},
		{"a pool during the rollback", withMTU(1450), withMTU(0, grown), back, "spec.clusterNetwork change-during-migration", "nothing else may change during an MTU migration"},
		{"the rollback by removing it", withMTU(1450, migrate(1450, 1400)), withMTU(0), back, "", ""},
		{"the rollback by exchanging both", withMTU(1450, migrate(1450, 1400)), withMTU(0, migrate(1400, 1450)), back, "", ""},
		{"another MTU in mid course", withMTU(1450, migrate(1450, 1400)), withMTU(0, migrate(1450, 1300)), back, "spec.migration.mtu.network change-during-migration", "remove spec.migration, or swap from and to"},
		{"it has finished automatically", withMTU(1450, migrate(1450, 1400)), withMTU(1450, migrate(1450, 1400)), reached, "", ""},
		{"the end", withMTU(1400, migrate(1450, 1400)), withMTU(0), reached, "", ""},
		{"the end with the new MTU", withMTU(1400, migrate(1450, 1400)), withMTU(1400), reached, "", ""},
		{"the end, and the old MTU is still there", withMTU(1400, migrate(1450, 1400)), withMTU(1450), reached, "spec.defaultNetwork.flannelConfig.mtu flannel-mtu-change", "put the old value back"},
		{"another one after it has finished", withMTU(1400, migrate(1450, 1400)), withMTU(0, migrate(1400, 1300)), reached, "", ""},
		{"more than links carry", withMTU(1450), withMTU(1460), facts.MTUMigration{}, "spec.defaultNetwork.flannelConfig.mtu mtu-links", "needs links of at least 1510 (vxlan adds 50), and a node has one of 1500; use 1450 or less"},
		{"more than links carry, with nothing applied", nil, withMTU(1460), facts.MTUMigration{}, "spec.defaultNetwork.flannelConfig.mtu mtu-links", "use 1450 or less"},
		{"a node with less has joined, and something else changes", withMTU(1460), withMTU(1460, debug), facts.MTUMigration{}, "", ""},
		{"a node with less has joined, and the MTU gets longer still", withMTU(1460), withMTU(1470), facts.MTUMigration{}, "spec.defaultNetwork.flannelConfig.mtu mtu-links", "use 1450 or less"},
		{"a migration that ends after a node with less has joined", withMTU(1450, migrate(1450, 1460)), withMTU(0, migrate(1450, 1460)), facts.MTUMigration{Active: true, Step: 2, MTU: 1460, Done: true}, "", ""},
		{"no migration", withMTU(1450), withMTU(1400), facts.MTUMigration{}, "spec.defaultNetwork.flannelConfig.mtu flannel-mtu-change", "without migration"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, err := pipeline.Pipeline{Registry: Registry()}.Run(context.Background(), pipeline.Input{
				Desired: tc.next, Applied: tc.applied,
				Cluster: facts.Cluster{Platform: "None", HostMTU: 1500, NodeCount: 1, NodeAddresses: map[string][]netip.Addr{"n": {netip.MustParseAddr("192.0.2.1")}}, MTUMigration: tc.progress},
			}, pipeline.Check)
			refusals := pipeline.RefusalsOf(err)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, r := range refusals {
				if r.Field+" "+r.Rule == tc.want && strings.Contains(r.Message, tc.message) {
					return
				}
			}
			t.Errorf("%v, want %s: %s", err, tc.want, tc.message)
		})
	}
}

// TestAcknowledgementDoesNotAllowAnMTUThatLinksDoNotCarry, and while the links are not known, there is no opinion of them.
func TestAcknowledgementDoesNotAllowAnMTUThatLinksDoNotCarry(t *testing.T) {
	known := facts.Cluster{Platform: "None", HostMTU: 1500}
	in := pipeline.Input{Desired: withMTU(1460), Applied: withMTU(1450), Cluster: known}
	p := pipeline.Pipeline{Registry: Registry()}
	res, err := p.Run(t.Context(), in, pipeline.Check)
	if err == nil || res.Acknowledgement != "" {
		t.Errorf("%v, and the hash to acknowledge it is %q", err, res.Acknowledgement)
	}
	in.Cluster.HostMTU = 0
	if res, err = p.Run(t.Context(), in, pipeline.Check); pipeline.RefusalsOf(err).Has(pipeline.RuleLinks) || res.Acknowledgement == "" {
		t.Errorf("with links that are not known: %v", err)
	}
}
