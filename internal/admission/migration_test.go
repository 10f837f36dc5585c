package admission

import (
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks/randomedittest"
)

func announce(from, to uint32) func(*operatorv1.NetworkSpec) {
	return func(s *operatorv1.NetworkSpec) {
		s.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{Network: &osv1.MTUMigrationValues{From: new(from), To: new(to)}}}
	}
}

// The phases of a change of the MTU from 1500 to 1400, and of the rollback.
var phases = map[string]struct {
	announced bool
	progress  facts.MTUMigration
}{
	"announced": {true, facts.MTUMigration{}},
	"preflight": {true, facts.MTUMigration{Active: true, MTU: 1500}},
	"routing":   {true, facts.MTUMigration{Active: true, Step: 1, MTU: 1500, RoutableMTU: 1400}},
	"finishing": {true, facts.MTUMigration{Active: true, Step: 2, MTU: 1400}},
	"finished":  {true, facts.MTUMigration{Active: true, Step: 2, MTU: 1400, Done: true}},
	"way back":  {false, facts.MTUMigration{Active: true, Step: 3, MTU: 1500, RoutableMTU: 1400}},
}

// during is a network in a phase.
func during(t *testing.T, phase string) *server {
	t.Helper()
	n := inUse()
	if phases[phase].announced {
		announce(1500, 1400)(&n.Spec)
	}
	return newServer(t, n, phases[phase].progress)
}

func TestAdmissionAndOperatorAgreeInEveryPhaseOfAMigration(t *testing.T) {
	const each = 500
	for phase := range phases {
		t.Run(phase, func(t *testing.T) { during(t, phase).agrees(each, each/50) })
	}
}

// TestMigrationIsValidatedAtAdmission checks the response of kubectl apply, and that the operator agrees.
func TestMigrationIsValidatedAtAdmission(t *testing.T) {
	both := func(edits ...func(*operatorv1.NetworkSpec)) func(*operatorv1.NetworkSpec) {
		return func(s *operatorv1.NetworkSpec) {
			for _, e := range edits {
				e(s)
			}
		}
	}
	debug := func(s *operatorv1.NetworkSpec) { s.LogLevel = osv1.Debug }
	spelled := func(s *operatorv1.NetworkSpec) { s.LogLevel = osv1.Normal }
	grown := func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.244.0.0/15" }
	override := func(s *operatorv1.NetworkSpec) {
		s.Workloads = []operatorv1.Workload{{Name: "flanneld", PriorityClassName: "system-node-critical"}}
	}
	away := func(s *operatorv1.NetworkSpec) { s.Migration = nil }
	mtu := func(v uint32) func(*operatorv1.NetworkSpec) {
		return func(s *operatorv1.NetworkSpec) { randomedittest.Flannel(s).MTU = new(v) }
	}
	type edit struct {
		why    string
		change func(*operatorv1.NetworkSpec)
		// message is a part of the message; empty if the edit is accepted.
		message string
	}
	for phase, edits := range map[string][]edit{
		"": {
			{"a start", announce(1500, 1400), ""},
			{"from is not what is applied", announce(1450, 1400), "spec.migration.mtu.network.from: 1450 is not the applied MTU; set it to 1500 (migration-mtu)"},
			{"longer than links are", announce(1500, 8000), `spec.migration.mtu.network.to: "1500" -> "8000": is more than the MTU of the nodes' links, less the overhead of the network; use 1500 or less`},
			{"a pool grows with it", both(announce(1500, 1400), grown), `spec.clusterNetwork: "10.244.0.0/16" -> "10.244.0.0/15": nothing else may change during an MTU migration`},
			{"too short", announce(1500, 500), "spec.migration.mtu.network.to: 500 is out of range; it must be 576 to 65535"},
			{"nowhere", announce(1500, 1500), "1500 is the same as from"},
			{"something else with it", both(announce(1500, 1400), debug), `spec.logLevel: "Normal" -> "Debug": nothing else may change`},
			{"an override of a workload with it", both(announce(1500, 1400), override), "spec.workloads: nothing else may change"},
			{"a default that is written down", both(announce(1500, 1400), spelled), ""},
		},
		"routing": {
			{"another target", announce(1500, 1300), `spec.migration.mtu.network: "1500 -> 1400" -> "1500 -> 1300": cannot be changed during a migration; remove spec.migration, or swap from and to to roll back (change-during-migration)`},
			{"the way back by exchanging both", announce(1400, 1500), ""},
			{"the way back by removing it", away, ""},
			{"removing it with the new MTU, which is not applied yet", both(away, mtu(1400)), "spec.defaultNetwork.flannelConfig.mtu"},
			{"a pool", grown, "(change-during-migration)"},
			{"the MTU itself", mtu(1300), `spec.defaultNetwork.flannelConfig.mtu: "1500" -> "1300": must be left out, or be 1500 or 1400`},
			{"machines", func(s *operatorv1.NetworkSpec) {
				s.Migration.MTU.Machine = &osv1.MTUMigrationValues{To: new(uint32(1400))}
			}, "spec.migration.mtu.machine"},
		},
		"finished": {
			{"the end", away, ""},
			{"the end with the new MTU", both(away, mtu(1400)), ""},
			{"the end with the old MTU", both(away, mtu(1500)), `spec.defaultNetwork.flannelConfig.mtu: "1400" -> "1500"`},
			{"another migration", announce(1400, 1300), ""},
			{"another one from the old MTU", announce(1500, 1300), "set it to 1400"},
		},
		"way back": {
			{"a new announcement", announce(1500, 1300), ""},
			{"something else", debug, "(change-during-migration)"},
		},
	} {
		t.Run("phase "+phase, func(t *testing.T) {
			d := openIn(t, phase)
			for _, e := range edits {
				err := d.edit(e.change)
				if (err == nil) != (e.message == "") || err != nil && !strings.Contains(err.Error(), e.message) {
					t.Errorf("%s: %v, want %q", e.why, err, e.message)
				}
				if _, err := d.check(e.change); (err == nil) != (e.message == "") {
					t.Errorf("the operator, %s: %v", e.why, err)
				}
				if acknowledged := d.edit(e.change, "0123456789abcdef"); (acknowledged == nil) != (e.message == "") {
					t.Errorf("%s, acknowledged: %v", e.why, acknowledged)
				}
			}
		})
	}
}

// openIn is a network in a phase, or in none.
func openIn(t *testing.T, phase string) *server {
	t.Helper()
	if phase == "" {
		return newServer(t, inUse())
	}
	return during(t, phase)
}

// TestShortFormCannotChangeDuringAMigration: NetworkConfig cannot announce one, and must not disturb one either.
func TestShortFormCannotChangeDuringAMigration(t *testing.T) {
	d := during(t, "routing")
	config := shortForm()
	d.Create(t, config)
	for _, tt := range []struct {
		why     string
		change  func(*networkoperatorv1.NetworkConfigSpec)
		allowed bool
	}{
		{"the MTU that is applied", func(s *networkoperatorv1.NetworkConfigSpec) {
			s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{MTU: new(uint32(1500))}
		}, true},
		{"the MTU that is wanted", func(s *networkoperatorv1.NetworkConfigSpec) {
			s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{MTU: new(uint32(1400))}
		}, true},
		{"another one", func(s *networkoperatorv1.NetworkConfigSpec) {
			s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{MTU: new(uint32(1300))}
		}, false},
		{"a pool that grows", func(s *networkoperatorv1.NetworkConfigSpec) {
			s.ClusterNetworks[0] = networkoperatorv1.ClusterNetwork{CIDR: "10.244.0.0/15", HostSubnetLength: 8}
		}, false},
		{"kube-proxy", func(s *networkoperatorv1.NetworkConfigSpec) {
			s.KubeProxyConfig = &osv1.ProxyConfig{IptablesSyncPeriod: "20s"}
		}, false},
		{"a default that is written down", func(s *networkoperatorv1.NetworkConfigSpec) {
			s.KubeProxyConfig = &osv1.ProxyConfig{IptablesSyncPeriod: "30s", BindAddress: "0.0.0.0"}
		}, true},
	} {
		next := config.DeepCopy()
		tt.change(&next.Spec)
		if err := d.Client.Update(t.Context(), next, client.DryRunAll); (err == nil) != tt.allowed {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
}
