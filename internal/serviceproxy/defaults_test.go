package serviceproxy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/proxysettings"
)

// filled is a specification with defaults, having checked the promises that hold for all of them.
func filled(t *testing.T, spec, prev *operatorv1.NetworkSpec, traits provider.Traits, f facts.Cluster) *operatorv1.NetworkSpec {
	t.Helper()
	before := spec.DeepCopy()
	out := Default(spec, prev, traits, f)
	if diff := cmp.Diff(before, spec); diff != "" {
		t.Fatalf("the input was changed:\n%s", diff)
	}
	if diff := cmp.Diff(out, Default(out, out, traits, f)); diff != "" {
		t.Fatalf("filling again changes it:\n%s", diff)
	}
	return out
}

func TestDefaultsAreExplicit(t *testing.T) {
	iptables := proxysettings.Network(&osv1.ProxyConfig{ProxyArguments: proxysettings.Args("proxy-mode=iptables")})
	iptables.DeployKubeProxy = new(bool)
	unused := iptables.DeepCopy()
	*iptables.DeployKubeProxy = true
	settings := func(bind, period string, arguments ...string) *osv1.ProxyConfig {
		return &osv1.ProxyConfig{BindAddress: bind, IptablesSyncPeriod: period, ProxyArguments: proxysettings.Args(arguments...)}
	}
	for _, tc := range []struct {
		why        string
		spec, prev *operatorv1.NetworkSpec
		kernel     facts.KernelVersion
		want       *osv1.ProxyConfig
	}{
		{"a fresh cluster", proxysettings.Network(nil), nil, facts.KernelVersion{}, settings("0.0.0.0", "30s", "proxy-mode=nftables")},
		{"IPv6 first", proxysettings.Network(nil, "fd01::/48", "10.0.0.0/8"), nil, facts.KernelVersion{}, settings("::", "30s", "proxy-mode=nftables")},
		{"a kernel that is just new enough", proxysettings.Network(nil), nil, facts.KernelVersion{Major: 5, Minor: 13}, settings("0.0.0.0", "30s", "proxy-mode=nftables")},
		{"a kernel that kube-proxy refuses nftables on", proxysettings.Network(nil), nil, facts.KernelVersion{Major: 5, Minor: 12}, settings("0.0.0.0", "30s", "proxy-mode=iptables")},
		{"the mode is kept", proxysettings.Network(nil), iptables, facts.KernelVersion{}, settings("0.0.0.0", "30s", "proxy-mode=iptables")},
		{"but not that of a kube-proxy that did not run", proxysettings.Network(nil), unused, facts.KernelVersion{}, settings("0.0.0.0", "30s", "proxy-mode=nftables")},
		{"another mode is asked for", proxysettings.Network(settings("", "", "proxy-mode=ipvs")), iptables, facts.KernelVersion{}, settings("0.0.0.0", "30s", "proxy-mode=ipvs")},
		{"set by arguments", proxysettings.Network(settings("", "", "bind-address=10.0.0.1", "iptables-sync-period=90s")), nil, facts.KernelVersion{},
			settings("10.0.0.1", "1m30s", "bind-address=10.0.0.1", "iptables-sync-period=90s", "proxy-mode=nftables")},
		{"set by fields", proxysettings.Network(settings("10.0.0.1", "90s")), nil, facts.KernelVersion{}, settings("10.0.0.1", "90s", "proxy-mode=nftables")},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got := filled(t, tc.spec, tc.prev, provider.Traits{}, facts.Cluster{OldestKernel: tc.kernel})
			if diff := cmp.Diff(tc.want, got.KubeProxyConfig); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// own is a network that runs kube-proxy in pods of its own.
var own = provider.Traits{Type: "Example", ServiceProxy: true, KubeProxy: provider.KubeProxySupport{Own: true, LocalBridge: "tun0", Modes: []string{ModeNFTables, ModeIPTables}}}

func TestDefaultsOfANetworkThatRunsKubeProxyItself(t *testing.T) {
	component := proxysettings.Network(nil)
	component.DeployKubeProxy = new(true)
	settings := func(arguments ...string) *osv1.ProxyConfig {
		return &osv1.ProxyConfig{BindAddress: "0.0.0.0", IptablesSyncPeriod: "30s", ProxyArguments: proxysettings.Args(arguments...)}
	}
	for _, tc := range []struct {
		why        string
		spec, prev *operatorv1.NetworkSpec
		deploy     bool
		want       *osv1.ProxyConfig
	}{
		{"settings are explicit without the component", proxysettings.Network(nil), nil, false, settings("proxy-mode=nftables", "detect-local-mode=BridgeInterface", "pod-bridge-interface=tun0")},
		{"the component recognizes pods in the same way", component, nil, true, settings("proxy-mode=nftables", "detect-local-mode=BridgeInterface", "pod-bridge-interface=tun0")},
		{"the mode is kept", proxysettings.Network(nil), proxysettings.Network(&osv1.ProxyConfig{ProxyArguments: proxysettings.Args("proxy-mode=iptables")}), false, settings("proxy-mode=iptables", "detect-local-mode=BridgeInterface", "pod-bridge-interface=tun0")},
		{"the user sets how pods are recognized", proxysettings.Network(&osv1.ProxyConfig{ProxyArguments: proxysettings.Args("cluster-cidr=10.128.0.0/14")}), nil, false, settings("cluster-cidr=10.128.0.0/14", "proxy-mode=nftables")},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got := filled(t, tc.spec, tc.prev, own, facts.Cluster{})
			if diff := cmp.Diff(tc.want, got.KubeProxyConfig); diff != "" {
				t.Error(diff)
			}
			if *got.DeployKubeProxy != tc.deploy {
				t.Errorf("the component is deployed: %t", *got.DeployKubeProxy)
			}
		})
	}
}

func TestSettingsNextToANetworkThatRunsKubeProxyItself(t *testing.T) {
	for _, tc := range []struct {
		why  string
		spec *operatorv1.NetworkSpec
		want []string
	}{
		{"they are used", proxysettings.Network(&osv1.ProxyConfig{BindAddress: "10.0.0.1", IptablesSyncPeriod: "30s", ProxyArguments: proxysettings.Args("proxy-mode=iptables", "v=4")}), nil},
		{"several pools: pods are recognized by the bridge", proxysettings.Network(nil, "10.128.0.0/14", "10.132.0.0/14"), nil},
		{"a mode that does not work", proxysettings.Network(&osv1.ProxyConfig{ProxyArguments: proxysettings.Args("proxy-mode=ipvs")}),
			[]string{"proxyArguments[proxy-mode]: kube-proxy-mode: does not work with network type Example; use nftables or iptables"}},
		{"a mode that does not exist", proxysettings.Network(&osv1.ProxyConfig{ProxyArguments: proxysettings.Args("proxy-mode=userspace")}),
			[]string{"proxyArguments[proxy-mode][0]: kube-proxy-value: is none of nftables, iptables, ipvs"}},
		{"all errors", proxysettings.Network(&osv1.ProxyConfig{IptablesSyncPeriod: "30", ProxyArguments: proxysettings.Args("proxy-mode=ipvs", "cluster-cidr=10.0.0.0/16")}), []string{
			"iptablesSyncPeriod: kube-proxy-sync-period: has no unit; write 30s",
			"proxyArguments[proxy-mode]: kube-proxy-mode: does not work with network type Example; use nftables or iptables",
			"proxyArguments[cluster-cidr]: kube-proxy-cluster-cidr: does not contain 10.128.0.0/14 of spec.clusterNetwork, whose pods kube-proxy would treat as clients outside the cluster; write a network that contains it, or remove the argument"}},
	} {
		if diff := cmp.Diff(tc.want, complaints(tc.spec, own)); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
	}
}
