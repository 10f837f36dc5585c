package kubeproxy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/proxysettings"
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

func TestKubeProxyIsDeployedUnlessTheNetworkServesServices(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		why   string
		asked *bool
		own   bool
		want  bool
	}{
		{"without its own proxy", nil, false, true},
		{"with its own proxy", nil, true, false},
		{"asked for beside one", &yes, true, true},
		{"asked to leave it out", &no, false, false},
	} {
		spec := proxysettings.Network(nil)
		spec.DeployKubeProxy = tc.asked
		got := Component{}.Default(spec, nil, provider.Traits{ServiceProxy: tc.own}, facts.Cluster{})
		if (Component{}).Enabled(got) != tc.want {
			t.Errorf("%s: %v", tc.why, !tc.want)
		}
		if !tc.want && got.KubeProxyConfig != nil {
			t.Errorf("%s: settings were filled for nothing", tc.why)
		}
	}
	if (Component{}).Enabled(proxysettings.Network(nil)) {
		t.Error("enabled by a specification that does not set it")
	}
}

func TestEveryChangeIsSafe(t *testing.T) {
	a := filledFor(t, proxysettings.Network(nil), nil)
	b := proxysettings.Network(&osv1.ProxyConfig{BindAddress: "::", ProxyArguments: proxysettings.Args("proxy-mode=iptables")})
	b.DeployKubeProxy = new(bool)
	if errs := (Component{}).CheckChange(a, b); len(errs) > 0 {
		t.Error(errs)
	}
}
