package networkconfig_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	"sigs.k8s.io/yaml"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/networkconfig"
)

func pointer[T any](v T) *T { return &v }

func TestFullExampleConverts(t *testing.T) {
	content, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := &networkoperatorv1.NetworkConfig{}
	if err := yaml.UnmarshalStrict(content, config); err != nil {
		t.Fatal(err)
	}
	got, errs := networkconfig.Convert(&config.Spec)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{
			{CIDR: "10.128.0.0/14", HostPrefix: 23},
			{CIDR: "192.168.0.0/18", HostPrefix: 23},
		},
		ServiceNetwork: []string{"172.30.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{
			Type: operatorv1.NetworkTypeOpenShiftSDN,
			OpenShiftSDNConfig: &osv1.OpenShiftSDNConfig{
				Mode: osv1.SDNModeNetworkPolicy, VXLANPort: pointer(uint32(4789)), MTU: pointer(uint32(1450)),
				UseExternalOpenvswitch: pointer(false),
			},
		},
		DeployKubeProxy: pointer(false),
		KubeProxyConfig: &osv1.ProxyConfig{
			IptablesSyncPeriod: "30s", BindAddress: "0.0.0.0",
			ProxyArguments: map[string]osv1.ProxyArgumentList{"iptables-min-sync-period": {"30s"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// minimal returns the least that converts.
func minimal() *networkoperatorv1.NetworkConfigSpec {
	spec := &networkoperatorv1.NetworkConfigSpec{
		ClusterNetworks: []networkoperatorv1.ClusterNetwork{{CIDR: "10.128.0.0/14", HostSubnetLength: 9}},
		ServiceNetwork:  "172.30.0.0/16",
	}
	spec.DefaultNetwork.Type = operatorv1.NetworkTypeFlannel
	return spec
}

func TestHostSubnetLengthIsHostBits(t *testing.T) {
	for _, row := range []struct {
		why    string
		cidr   string
		length uint32
		want   uint32
	}{
		{"the documented figure", "10.128.0.0/14", 9, 23},
		{"the same in IPv6, whose addresses are longer", "fd01::/48", 9, 119},
		{"a common block in IPv6", "fd01::/48", 64, 64},
		{"the smallest block", "10.128.0.0/14", 2, 30},
		{"the smallest block in IPv6", "fd01::/48", 2, 126},
		{"one node that gets all of the pool", "10.128.0.0/14", 18, 14},
		{"all of the smallest pool", "10.128.0.0/30", 2, 30},
	} {
		t.Run(row.why, func(t *testing.T) {
			spec := minimal()
			spec.ClusterNetworks[0] = networkoperatorv1.ClusterNetwork{CIDR: row.cidr, HostSubnetLength: row.length}
			got, errs := networkconfig.Convert(spec)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if got.ClusterNetwork[0].HostPrefix != row.want {
				t.Errorf("got hostPrefix %d, want %d", got.ClusterNetwork[0].HostPrefix, row.want)
			}
		})
	}
}

func TestOldSpellingsAreRepaired(t *testing.T) {
	spec := minimal()
	spec.DefaultNetwork.Type = "OpenshiftSDN"
	spec.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{Mode: "Networkpolicy"}
	got, errs := networkconfig.Convert(spec)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if got.DefaultNetwork.Type != "OpenShiftSDN" || got.DefaultNetwork.OpenShiftSDNConfig.Mode != "NetworkPolicy" {
		t.Errorf("got type %q and mode %q", got.DefaultNetwork.Type, got.DefaultNetwork.OpenShiftSDNConfig.Mode)
	}
	if spec.DefaultNetwork.OpenShiftSDNConfig.Mode != "Networkpolicy" {
		t.Error("the argument was changed")
	}
}

func TestThirdPartyTypesAreKeptAsWritten(t *testing.T) {
	spec := minimal()
	spec.DefaultNetwork.Type = "acme"
	got, errs := networkconfig.Convert(spec)
	if len(errs) > 0 || got.DefaultNetwork.Type != "acme" {
		t.Errorf("got %v, %v", got, errs)
	}
}

func TestUnconvertibleValueIsRefusedAtItsField(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*networkoperatorv1.NetworkConfigSpec)
		want   []string
	}{
		{"an empty object reports everything that is missing", func(s *networkoperatorv1.NetworkConfigSpec) { *s = networkoperatorv1.NetworkConfigSpec{} }, []string{
			`spec.serviceNetwork: Required value: must have at least 1 entry, e.g. 172.30.0.0/16`,
			`spec.clusterNetworks: Required value: must have at least 1 entry, e.g. cidr 10.128.0.0/14 with hostSubnetLength 9`,
			`spec.defaultNetwork.type: Required value: is required; write one of Flannel, OVNKubernetes, OpenShiftSDN, or the name of a third-party network`,
		}},
		{"no octets can be guessed", func(s *networkoperatorv1.NetworkConfigSpec) { s.ServiceNetwork = "172.30/16" }, []string{
			`spec.serviceNetwork: Invalid value: "172.30/16": is not a CIDR; write four octets and a prefix, e.g. 172.30.0.0/16`,
		}},
		{"the length would be that of the wrong family", func(s *networkoperatorv1.NetworkConfigSpec) {
			s.ClusterNetworks[0].CIDR = "::ffff:10.128.0.0/110"
		}, []string{
			`spec.clusterNetworks[0].cidr: Invalid value: "::ffff:10.128.0.0/110": is not a CIDR; write the IPv4 network without its ::ffff: prefix`,
		}},
		{"it is not clear which pool is meant", func(s *networkoperatorv1.NetworkConfigSpec) { s.ClusterNetworks[0].CIDR = "10.128.0.5/14" }, []string{
			`spec.clusterNetworks[0].cidr: Invalid value: "10.128.0.5/14": has host bits set; did you mean 10.128.0.0/14?`,
		}},
		{"the block is larger than the pool", func(s *networkoperatorv1.NetworkConfigSpec) { s.ClusterNetworks[0].HostSubnetLength = 19 }, []string{
			`spec.clusterNetworks[0].hostSubnetLength: Invalid value: 19: must be between 2 and 18 for a /14: it is the number of host bits, so that 9 gives each node a /23`,
		}},
		{"the length of a prefix was written by mistake", func(s *networkoperatorv1.NetworkConfigSpec) { s.ClusterNetworks[0].HostSubnetLength = 23 }, []string{
			`spec.clusterNetworks[0].hostSubnetLength: Invalid value: 23: must be between 2 and 18 for a /14: it is the number of host bits, so that 9 gives each node a /23`,
		}},
		{"it was left out", func(s *networkoperatorv1.NetworkConfigSpec) { s.ClusterNetworks[0].HostSubnetLength = 0 }, []string{
			`spec.clusterNetworks[0].hostSubnetLength: Invalid value: 0: must be between 2 and 18 for a /14: it is the number of host bits, so that 9 gives each node a /23`,
		}},
		{"it does not overflow", func(s *networkoperatorv1.NetworkConfigSpec) { s.ClusterNetworks[0].HostSubnetLength = 1<<32 - 1 }, []string{
			`spec.clusterNetworks[0].hostSubnetLength: Invalid value: 4294967295: must be between 2 and 18 for a /14: it is the number of host bits, so that 9 gives each node a /23`,
		}},
		{"no length would do", func(s *networkoperatorv1.NetworkConfigSpec) { s.ClusterNetworks[0].CIDR = "10.128.0.0/31" }, []string{
			`spec.clusterNetworks[0].hostSubnetLength: Invalid value: 9: cannot be right: 10.128.0.0/31 is too small to be divided among nodes; use a shorter prefix`,
		}},
		{"errors of several entries are reported at once", func(s *networkoperatorv1.NetworkConfigSpec) {
			s.ClusterNetworks = []networkoperatorv1.ClusterNetwork{{CIDR: "a", HostSubnetLength: 9}, {CIDR: "10.0.0.0/8", HostSubnetLength: 1}}
		}, []string{
			`spec.clusterNetworks[0].cidr: Invalid value: "a": is not a CIDR; write four octets and a prefix, e.g. 10.128.0.0/14`,
			`spec.clusterNetworks[1].hostSubnetLength: Invalid value: 1: must be between 2 and 24 for a /8: it is the number of host bits, so that 9 gives each node a /23`,
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			spec := minimal()
			row.change(spec)
			got, errs := networkconfig.Convert(spec)
			if got != nil {
				t.Error("got a specification beside errors")
			}
			var texts []string
			for _, err := range errs {
				texts = append(texts, err.Error())
			}
			if diff := cmp.Diff(row.want, texts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzConvertAddsUpToTheWidthOfTheFamily(f *testing.F) {
	f.Add("10.128.0.0/14", uint32(9), "172.30.0.0/16", "OpenshiftSDN")
	f.Add("fd01::/48", uint32(64), "fd02::/112", "Flannel")
	f.Add("10.0.0.0/33", uint32(1<<31), "/", "")
	f.Fuzz(func(t *testing.T, cidr string, length uint32, service, networkType string) {
		spec := minimal()
		spec.ClusterNetworks[0] = networkoperatorv1.ClusterNetwork{CIDR: cidr, HostSubnetLength: length}
		spec.ServiceNetwork = service
		spec.DefaultNetwork.Type = operatorv1.NetworkType(networkType)
		before := spec.DeepCopy()
		got, errs := networkconfig.Convert(spec)
		if diff := cmp.Diff(before, spec); diff != "" {
			t.Error("the argument was changed", diff)
		}
		if (got == nil) == (len(errs) == 0) {
			t.Fatalf("got %v and %v", got, errs)
		}
		if got == nil {
			return
		}
		if sum := got.ClusterNetwork[0].HostPrefix + length; sum != 32 && sum != 128 {
			t.Errorf("%s with %d host bits became hostPrefix %d", cidr, length, got.ClusterNetwork[0].HostPrefix)
		}
	})
}
