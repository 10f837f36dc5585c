package kubeproxy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// filledFor is the specification with defaults, having checked the promises that hold for all of them.
func filledFor(t *testing.T, spec, prev *operatorv1.NetworkSpec) *operatorv1.NetworkSpec {
	t.Helper()
	before := spec.DeepCopy()
	filled := Component{}.Default(spec, prev, provider.Traits{}, facts.Cluster{})
	if diff := cmp.Diff(before, spec); diff != "" {
		t.Fatalf("the input was changed:\n%s", diff)
	}
	again := Component{}.Default(filled, filled, provider.Traits{}, facts.Cluster{})
	if diff := cmp.Diff(filled, again); diff != "" {
		t.Fatalf("filling again changes it:\n%s", diff)
	}
	return filled
}

func TestKubeProxyIsDeployedWhereNobodyElseServesServices(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		why   string
		asked *bool
		own   bool
		want  bool
	}{
		{"no proxy of its own", nil, false, true},
		{"a proxy of its own", nil, true, false},
		{"asked for beside one", &yes, true, true},
		{"asked to leave it out", &no, false, false},
	} {
		spec := network(nil)
		spec.DeployKubeProxy = tc.asked
		got := Component{}.Default(spec, nil, provider.Traits{ServiceProxy: tc.own}, facts.Cluster{})
		if (Component{}).Enabled(got) != tc.want {
			t.Errorf("%s: %v", tc.why, !tc.want)
		}
		if !tc.want && got.KubeProxyConfig != nil {
			t.Errorf("%s: settings were filled for nothing", tc.why)
		}
	}
	if (Component{}).Enabled(network(nil)) {
		t.Error("enabled by a specification that does not say so")
	}
}

func TestDefaultsAreExplicit(t *testing.T) {
	iptables := network(&osv1.ProxyConfig{ProxyArguments: args("proxy-mode=iptables")})
	iptables.DeployKubeProxy = new(bool)
	unused := iptables.DeepCopy()
	*iptables.DeployKubeProxy = true
	settings := func(bind, period string, arguments ...string) *osv1.ProxyConfig {
		return &osv1.ProxyConfig{BindAddress: bind, IptablesSyncPeriod: period, ProxyArguments: args(arguments...)}
	}
	for _, tc := range []struct {
		why        string
		spec, prev *operatorv1.NetworkSpec
		kernel     facts.KernelVersion
		want       *osv1.ProxyConfig
	}{
		{"a fresh cluster", network(nil), nil, facts.KernelVersion{}, settings("0.0.0.0", "30s", "proxy-mode=nftables")},
		{"IPv6 first", network(nil, "fd01::/48", "10.0.0.0/8"), nil, facts.KernelVersion{}, settings("::", "30s", "proxy-mode=nftables")},
		{"a kernel that is just new enough", network(nil), nil, facts.KernelVersion{Major: 5, Minor: 13}, settings("0.0.0.0", "30s", "proxy-mode=nftables")},
		{"a kernel that kube-proxy refuses nftables on", network(nil), nil, facts.KernelVersion{Major: 5, Minor: 12}, settings("0.0.0.0", "30s", "proxy-mode=iptables")},
		{"the mode is kept", network(nil), iptables, facts.KernelVersion{}, settings("0.0.0.0", "30s", "proxy-mode=iptables")},
		{"but not that of a kube-proxy that did not run", network(nil), unused, facts.KernelVersion{}, settings("0.0.0.0", "30s", "proxy-mode=nftables")},
		{"another mode is asked for", network(settings("", "", "proxy-mode=ipvs")), iptables, facts.KernelVersion{}, settings("0.0.0.0", "30s", "proxy-mode=ipvs")},
		{"arguments say it", network(settings("", "", "bind-address=10.0.0.1", "iptables-sync-period=90s")), nil, facts.KernelVersion{},
			settings("10.0.0.1", "1m30s", "bind-address=10.0.0.1", "iptables-sync-period=90s", "proxy-mode=nftables")},
		{"fields say it", network(settings("10.0.0.1", "90s")), nil, facts.KernelVersion{}, settings("10.0.0.1", "90s", "proxy-mode=nftables")},
	} {
		t.Run(tc.why, func(t *testing.T) {
			filledFor(t, tc.spec, tc.prev)
			got := Component{}.Default(tc.spec, tc.prev, provider.Traits{}, facts.Cluster{OldestKernel: tc.kernel})
			if diff := cmp.Diff(tc.want, got.KubeProxyConfig); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryChangeIsSafe(t *testing.T) {
	a := filledFor(t, network(nil), nil)
	b := network(&osv1.ProxyConfig{BindAddress: "::", ProxyArguments: args("proxy-mode=iptables")})
	b.DeployKubeProxy = new(bool)
	if errs := (Component{}).CheckChange(a, b); len(errs) > 0 {
		t.Error(errs)
	}
}
