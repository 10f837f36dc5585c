package openshiftsdn

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// with is a network with settings.
func with(c osv1.OpenShiftSDNConfig) *operatorv1.NetworkSpec {
	return network(func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.OpenShiftSDNConfig = &c })
}

// proxyArguments are settings of kube-proxy with one argument.
func proxyArguments(name, value string) *osv1.ProxyConfig {
	return &osv1.ProxyConfig{ProxyArguments: map[string]osv1.ProxyArgumentList{name: {value}}}
}

func TestValidSpecificationsAreInstalled(t *testing.T) {
	pools := func(entries ...operatorv1.ClusterNetworkEntry) *operatorv1.NetworkSpec {
		return network(func(s *operatorv1.NetworkSpec) { s.ClusterNetwork = entries })
	}
	for why, spec := range map[string]*operatorv1.NetworkSpec{
		"the block of settings is optional":     network(nil),
		"an empty block":                        with(osv1.OpenShiftSDNConfig{}),
		"a mode in another spelling":            with(osv1.OpenShiftSDNConfig{Mode: "networkPOLICY"}),
		"the lowest numbers":                    with(osv1.OpenShiftSDNConfig{VXLANPort: new(uint32(1)), MTU: new(uint32(576))}),
		"the highest port, and all of the link": with(osv1.OpenShiftSDNConfig{VXLANPort: new(uint32(65535)), MTU: new(uint32(1450))}),
		"every switch":                          with(osv1.OpenShiftSDNConfig{UseExternalOpenvswitch: new(true), EnableUnidling: new(false)}),
		"several pools":                         pools(operatorv1.ClusterNetworkEntry{CIDR: "10.0.0.0/16", HostPrefix: 24}, operatorv1.ClusterNetworkEntry{CIDR: "10.2.0.0/16", HostPrefix: 30}, operatorv1.ClusterNetworkEntry{CIDR: "10.4.0.0/24", HostPrefix: 24}),
		"kube-proxy with iptables":              network(func(s *operatorv1.NetworkSpec) { s.KubeProxyConfig = proxyArguments("proxy-mode", "iptables") }),
	} {
		if _, err := run(t, pipeline.Input{Desired: spec, Cluster: cluster()}); err != nil {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func TestInvalidSettingsAreRefusedWithTheWayOut(t *testing.T) {
	const own = "spec.defaultNetwork.openshiftSDNConfig."
	for _, tc := range []struct {
		why  string
		spec *operatorv1.NetworkSpec
		want []string
	}{
		{"all errors at once", network(func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{Mode: "Flat", VXLANPort: new(uint32(65536)), MTU: new(uint32(575))}
			s.KubeProxyConfig = proxyArguments("proxy-mode", "ipvs")
		}), []string{
			own + `mode: "Flat" is not a mode; use Subnet, Multitenant or NetworkPolicy (openshiftsdn-mode)`,
			own + "vxlanPort: 65536 is out of range; it must be 1 to 65535 (openshiftsdn-vxlan-port-range)",
			own + "mtu: 575 is out of range; it must be 576 to 65536 (openshiftsdn-mtu-range)",
			`spec.kubeProxyConfig.proxyArguments[proxy-mode]: "ipvs" does not work with network type OpenShiftSDN; use nftables or iptables (kube-proxy-mode)`,
		}},
		{"port 0, and beyond the largest MTU", with(osv1.OpenShiftSDNConfig{VXLANPort: new(uint32(0)), MTU: new(uint32(65537))}), []string{
			own + "vxlanPort: 0 is out of range", own + "mtu: 65537 is out of range",
		}},
		{"an MTU that a link does not take", with(osv1.OpenShiftSDNConfig{MTU: new(uint32(1451))}), []string{
			own + "mtu: 1451 needs links of at least 1501 (VXLAN adds 50), and a node has one of 1500; use 1450 or less",
		}},
		{"IPv6 and two Service CIDRs", network(func(s *operatorv1.NetworkSpec) {
			s.ClusterNetwork = append(s.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: "fd01::/48", HostPrefix: 64})
			s.ServiceNetwork = append(s.ServiceNetwork, "fd02::/112")
		}), []string{"spec.clusterNetwork: adds IPv6 networks to IPv4 ones, but network type OpenShiftSDN assigns pods IPv4 addresses only"}},
		{"no room for pods", network(func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].HostPrefix = 31 }), []string{"spec.clusterNetwork[0].hostPrefix"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, err := run(t, pipeline.Input{Desired: tc.spec, Cluster: cluster()})
			refused, ok := errors.AsType[pipeline.Refusals](err)
			if !ok || len(refused) != len(tc.want) {
				t.Fatalf("%v, want %d refusals", err, len(tc.want))
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
		})
	}
}

func TestDefaultsAreExplicitAndKept(t *testing.T) {
	full := func(mode osv1.SDNMode, port, mtu uint32, external, unidling bool) osv1.OpenShiftSDNConfig {
		return osv1.OpenShiftSDNConfig{Mode: mode, VXLANPort: &port, MTU: &mtu, UseExternalOpenvswitch: &external, EnableUnidling: &unidling}
	}
	for _, tc := range []struct {
		why     string
		spec    *operatorv1.NetworkSpec
		prev    *operatorv1.NetworkSpec
		hostMTU int
		want    osv1.OpenShiftSDNConfig
	}{
		{"a fresh cluster", network(nil), nil, 1500, full("NetworkPolicy", 4789, 1450, false, true)},
		{"jumbo frames", network(nil), nil, 9000, full("NetworkPolicy", 4789, 8950, false, true)},
		{"what is set", with(full("subnet", 4790, 1400, true, false)), nil, 1500, full("Subnet", 4790, 1400, true, false)},
		{"leaving out changes nothing", network(nil), with(full("Multitenant", 4790, 1400, true, false)), 9000, full("Multitenant", 4790, 1400, true, false)},
		{"the MTU was detected once", network(nil), with(full("NetworkPolicy", 4789, 1450, false, true)), 1400, full("NetworkPolicy", 4789, 1450, false, true)},
	} {
		t.Run(tc.why, func(t *testing.T) {
			f := facts.Cluster{HostMTU: tc.hostMTU}
			got := New().Default(tc.spec, tc.prev, f)
			if diff := cmp.Diff(&tc.want, got.DefaultNetwork.OpenShiftSDNConfig); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(got, New().Default(got, got, facts.Cluster{})); diff != "" {
				t.Errorf("filling again changes %s", diff)
			}
		})
	}
	if got := New().Default(network(nil), nil, facts.Cluster{}); got.DefaultNetwork.OpenShiftSDNConfig.MTU != nil {
		t.Error("an MTU without a known link")
	}
}

func TestUnsafeChangesAreRefusedAsDocumented(t *testing.T) {
	applied := New().Default(network(nil), nil, facts.Cluster{HostMTU: 1500})
	for _, tc := range []struct {
		why  string
		next osv1.OpenShiftSDNConfig
		want []string
	}{
		{"nothing", osv1.OpenShiftSDNConfig{}, nil},
		{"the same in another spelling", osv1.OpenShiftSDNConfig{Mode: "networkpolicy"}, nil},
		{"mode", osv1.OpenShiftSDNConfig{Mode: "Subnet"}, []string{"cannot change openshift-sdn mode"}},
		{"port", osv1.OpenShiftSDNConfig{VXLANPort: new(uint32(4790))}, []string{"cannot change openshift-sdn vxlanPort"}},
		{"MTU", osv1.OpenShiftSDNConfig{MTU: new(uint32(1400))}, []string{"cannot change openshift-sdn mtu without migration (spec.migration.mtu)"}},
		{"Open vSwitch of the host", osv1.OpenShiftSDNConfig{UseExternalOpenvswitch: new(true)}, []string{"cannot change who runs Open vSwitch"}},
		{"unidling", osv1.OpenShiftSDNConfig{EnableUnidling: new(false)}, nil},
		{"all", osv1.OpenShiftSDNConfig{Mode: "Subnet", VXLANPort: new(uint32(4790)), MTU: new(uint32(1400))},
			[]string{"cannot change openshift-sdn mode", "cannot change openshift-sdn vxlanPort", "cannot change openshift-sdn mtu without migration"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			next := New().Default(with(tc.next), applied, facts.Cluster{})
			errs := New().CheckChange(applied, next)
			if len(errs) != len(tc.want) {
				t.Fatalf("%v, want %v", errs, tc.want)
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(errs[i].Detail, want) {
					t.Errorf("%q, want %q", errs[i].Detail, want)
				}
			}
		})
	}
}
