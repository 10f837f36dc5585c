package admission

import (
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/networkconfig"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// shortForm is the NetworkConfig of the applied network.
func shortForm() *networkoperatorv1.NetworkConfig {
	c := &networkoperatorv1.NetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: networkoperatorv1.NetworkConfigName}}
	c.Spec.ClusterNetworks = []networkoperatorv1.ClusterNetwork{{CIDR: "10.244.0.0/16", HostSubnetLength: 8}}
	c.Spec.ServiceNetwork = "10.96.0.0/16"
	c.Spec.DefaultNetwork.Type = operatorv1.NetworkTypeFlannel
	return c
}

func TestShortFormHasTheSameAdmissionChecks(t *testing.T) {
	d := newServer(t, inUse())
	config := shortForm()
	d.Create(t, config)
	for why, change := range map[string]func(*networkoperatorv1.NetworkConfigSpec){
		"nothing that counts": func(s *networkoperatorv1.NetworkConfigSpec) { s.DeployKubeProxy = new(true) },
		"another pool":        func(s *networkoperatorv1.NetworkConfigSpec) { s.ClusterNetworks[0].CIDR = "10.200.0.0/16" },
		"another length":      func(s *networkoperatorv1.NetworkConfigSpec) { s.ClusterNetworks[0].HostSubnetLength = 9 },
		"other services":      func(s *networkoperatorv1.NetworkConfigSpec) { s.ServiceNetwork = "172.30.0.0/16" },
		"another type":        func(s *networkoperatorv1.NetworkConfigSpec) { s.DefaultNetwork.Type = "Calico" },
		"the type, misspelt":  func(s *networkoperatorv1.NetworkConfigSpec) { s.DefaultNetwork.Type = "flannel" },
		"another backend": func(s *networkoperatorv1.NetworkConfigSpec) {
			s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{Backend: "vxlan"}
		},
	} {
		next := config.DeepCopy()
		change(&next.Spec)
		spec, errs := networkconfig.Convert(&next.Spec)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", why, errs)
		}
		_, err := d.pipeline.Run(t.Context(), pipeline.Input{Desired: spec, Applied: d.filled, Cluster: cluster}, pipeline.Check)
		refusal := d.Client.Update(t.Context(), next, client.DryRunAll)
		if (refusal == nil) != (err == nil) {
			t.Errorf("%s:\nadmission returns %v\nthe operator returns %v", why, refusal, err)
		}
	}
}

func TestTheConfigurationOfTheClusterIsGuarded(t *testing.T) {
	d := newServer(t, inUse())
	config := &configv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: configv1.NetworkSpec{
		ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"}, NetworkType: "Flannel",
	}}
	d.Create(t, config)
	for field, change := range map[string]func(*configv1.NetworkSpec){
		"spec.clusterNetwork":              func(s *configv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.200.0.0/16" },
		"spec.clusterNetwork[].hostPrefix": func(s *configv1.NetworkSpec) { s.ClusterNetwork[0].HostPrefix = 25 },
		"spec.serviceNetwork":              func(s *configv1.NetworkSpec) { s.ServiceNetwork[0] = "172.30.0.0/16" },
		"spec.networkType":                 func(s *configv1.NetworkSpec) { s.NetworkType = "OVNKubernetes" },
	} {
		next := config.DeepCopy()
		change(&next.Spec)
		if err := d.Client.Update(t.Context(), next, client.DryRunAll); err == nil || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	next := config.DeepCopy()
	next.Spec.ServiceNodePortRange = "30000-32000"
	if err := d.Client.Update(t.Context(), next, client.DryRunAll); err != nil {
		t.Errorf("a field that does not concern the network: %v", err)
	}
}

func TestNothingIsRefusedBeforeThereIsANetwork(t *testing.T) {
	d := newServer(t, inUse())
	guard := &networkoperatorv1.NetworkGuard{ObjectMeta: metav1.ObjectMeta{Name: networkoperatorv1.NetworkGuardName}}
	if err := d.Client.Delete(t.Context(), guard); err != nil {
		t.Fatal(err)
	}
	eventually.Succeeds(t, "the API server decides so", func() error {
		return d.edit(func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.200.0.0/16" })
	})
	eventually.Succeeds(t, "the API server decides so", func() error { return d.Client.Delete(t.Context(), d.network, client.DryRunAll) })
}

// BenchmarkAdmission is what the policies cost a request: the same dry run of an edit with and without them.
func BenchmarkAdmission(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("policies=%t", with), func(b *testing.B) {
			network := inUse(func(s *operatorv1.NetworkSpec) { s.KubeProxyConfig = &osv1.ProxyConfig{} })
			open := func(b *testing.B, n *operatorv1.Network) *server { return withoutPolicies(b, n) }
			if with {
				open = func(b *testing.B, n *operatorv1.Network) *server { return newServer(b, n) }
			}
			server := open(b, network)
			n := 0
			for b.Loop() {
				n++
				next := server.network.DeepCopy()
				next.Spec.KubeProxyConfig.IptablesSyncPeriod = fmt.Sprintf("%ds", 10+n%50)
				if err := server.Client.Update(b.Context(), next, client.DryRunAll); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
