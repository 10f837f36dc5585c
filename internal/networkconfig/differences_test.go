package networkconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/networkconfig"
)

// converted returns what minimal stands for.
func converted(t *testing.T) *operatorv1.NetworkSpec {
	t.Helper()
	spec, errs := networkconfig.Convert(minimal())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return spec
}

func TestDifferencesNameTheFieldsOfNetwork(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*operatorv1.NetworkSpec)
		want   []string
	}{
		{"what was just made is no different", func(*operatorv1.NetworkSpec) {}, nil},
		{"fields that the short form does not have are none of its business", func(s *operatorv1.NetworkSpec) {
			s.ManagementState, s.LogLevel = osv1.Managed, osv1.Debug
			s.DisableMultiNetwork, s.Migration = pointer(true), &osv1.NetworkMigration{}
		}, nil},
		{"an empty list is none", func(s *operatorv1.NetworkSpec) { s.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{} }, nil},
		{"one value", func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].HostPrefix = 24 }, []string{"spec.clusterNetwork[0].hostPrefix"}},
		{"one more entry is a difference of the list", func(s *operatorv1.NetworkSpec) {
			s.ServiceNetwork = append(s.ServiceNetwork, "fd02::/112")
		}, []string{"spec.serviceNetwork"}},
		{"a field that only one sets", func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = pointer(false) }, []string{"spec.deployKubeProxy"}},
		{"several, in the order of their names", func(s *operatorv1.NetworkSpec) {
			s.ServiceNetwork[0] = "10.96.0.0/16"
			s.KubeProxyConfig = &osv1.ProxyConfig{BindAddress: "::"}
			s.DefaultNetwork.Type = "OVNKubernetes"
		}, []string{"spec.defaultNetwork.type", "spec.kubeProxyConfig", "spec.serviceNetwork[0]"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			changed := converted(t)
			row.change(changed)
			for _, pair := range [][2]*operatorv1.NetworkSpec{{converted(t), changed}, {changed, converted(t)}} {
				got, err := networkconfig.Differences(pair[0], pair[1])
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
