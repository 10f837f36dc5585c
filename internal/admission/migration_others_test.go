package admission

import (
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// TestMigrationsOfOtherNetworksAreValidatedAtAdmission checks the response of kubectl apply for networks other than flannel, and that the operator agrees.
func TestMigrationsOfOtherNetworksAreValidatedAtAdmission(t *testing.T) {
	type edit struct {
		why    string
		change func(*operatorv1.NetworkSpec)
		// message is a part of the message; empty if the edit is accepted.
		message string
	}
	sdn := func(change func(*osv1.OpenShiftSDNConfig), also ...func(*operatorv1.NetworkSpec)) func(*operatorv1.NetworkSpec) {
		return func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{}
			change(s.DefaultNetwork.OpenShiftSDNConfig)
			for _, f := range also {
				f(s)
			}
		}
	}
	ovn := func(change func(*osv1.OVNKubernetesConfig), also ...func(*operatorv1.NetworkSpec)) func(*operatorv1.NetworkSpec) {
		return func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{}
			change(s.DefaultNetwork.OVNKubernetesConfig)
			for _, f := range also {
				f(s)
			}
		}
	}
	for network, edits := range map[operatorv1.NetworkType][]edit{
		operatorv1.NetworkTypeOpenShiftSDN: {
			{"a start", announce(1450, 1400), ""},
			{"from is not what is applied", announce(1500, 1400), "set it to 1450 (migration-mtu)"},
			{"longer than links are", announce(1450, 1451), "use 1450 or less"},
			{"something else with it", sdn(func(c *osv1.OpenShiftSDNConfig) { c.EnableUnidling = new(false) }, announce(1450, 1400)), "openshiftSDNConfig.enableUnidling"},
			{"without it", sdn(func(c *osv1.OpenShiftSDNConfig) { c.MTU = new(uint32(1400)) }), "cannot change openshift-sdn mtu without migration (spec.migration.mtu)"},
		},
		operatorv1.NetworkTypeOVNKubernetes: {
			{"a start", announce(1400, 1350), ""},
			{"from is not what is applied", announce(1500, 1350), "set it to 1400 (migration-mtu)"},
			{"longer than links are", announce(1400, 1443), "use 1442 or less"},
			{"IPsec with it", ovn(func(c *osv1.OVNKubernetesConfig) { c.IPsecConfig = &osv1.IPsecConfig{Mode: osv1.IPsecModeExternal} }, announce(1400, 1350)), "ovnKubernetesConfig.ipsecConfig.mode"},
			{"without it", ovn(func(c *osv1.OVNKubernetesConfig) { c.MTU = new(uint32(1350)) }), "cannot change ovn-kubernetes MTU without migration (spec.migration.mtu)"},
		},
	} {
		t.Run(string(network), func(t *testing.T) {
			d := newServer(t, inUse(func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = network }))
			for _, e := range edits {
				err := d.edit(e.change)
				if (err == nil) != (e.message == "") || err != nil && !strings.Contains(err.Error(), e.message) {
					t.Errorf("%s: %v, want %q", e.why, err, e.message)
				}
				if _, err := d.check(e.change); (err == nil) != (e.message == "") {
					t.Errorf("the operator, %s: %v", e.why, err)
				}
			}
		})
	}
}
