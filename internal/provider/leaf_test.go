package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

func TestLeavesAndTheirTexts(t *testing.T) {
	s := spec(func(s *operatorv1.NetworkSpec, c *operatorv1.FlannelConfig) {
		s.DefaultNetwork.Type, c.MTU = "Flannel", new(uint32(1400))
		s.DeployKubeProxy = new(true)
		s.ServiceNetwork = []string{"10.96.0.0/16", "fd00::/112"}
		s.ClusterNetwork = []operatorv1.ClusterNetworkEntry{{CIDR: "10.0.0.0/8", HostPrefix: 23}, {CIDR: "10.1.0.0/16"}}
		s.KubeProxyConfig = &osv1.ProxyConfig{ProxyArguments: map[string]osv1.ProxyArgumentList{"v": {"4"}, "proxy-mode": {"a", "b"}, "bare": {}}}
		s.Workloads = []operatorv1.Workload{{Name: "flanneld"}}
	})
	for _, tc := range []struct {
		why, path string
		want      []Leaf
		text      string
	}{
		{"a text", "spec.defaultNetwork.type", []Leaf{{"spec.defaultNetwork.type", Single, nil}}, "Flannel"},
		{"a number", flannelConfig + ".mtu", []Leaf{{flannelConfig + ".mtu", Single, nil}}, "1400"},
		{"a truth value", "spec.deployKubeProxy", []Leaf{{"spec.deployKubeProxy", Single, nil}}, "true"},
		{"a value that is not set", "spec.logLevel", []Leaf{{"spec.logLevel", Single, nil}}, ""},
		{"a list", "spec.serviceNetwork", []Leaf{{"spec.serviceNetwork", List, nil}}, "10.96.0.0/16,fd00::/112"},
		{"rows, one of them without a column", "spec.clusterNetwork", []Leaf{{"spec.clusterNetwork", Rows, []string{"cidr", "hostPrefix"}}}, "10.0.0.0/8 23,10.1.0.0/16 "},
		{"a column is no leaf", "spec.clusterNetwork.cidr", nil, ""},
		{"a map of lists, in the order of names", "spec.kubeProxyConfig.proxyArguments", []Leaf{{"spec.kubeProxyConfig.proxyArguments", Lists, nil}}, "bare=\nproxy-mode=a,b\nv=4"},
		{"a key of the map", "spec.kubeProxyConfig.proxyArguments.proxy-mode", []Leaf{{"spec.kubeProxyConfig.proxyArguments.proxy-mode", List, nil}}, "a,b"},
		{"what has no text", "spec.workloads", []Leaf{{"spec.workloads", Opaque, nil}}, ""},
		{"what does not exist", "spec.nothing", nil, ""},
		{"fields below a pointer", flannelConfig + ".vxlan", []Leaf{{flannelConfig + ".vxlan.vni", Single, nil}, {flannelConfig + ".vxlan.port", Single, nil}}, ""},
	} {
		got := LeavesBelow(tc.path)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", tc.why, d)
		}
		if len(got) == 1 {
			if text := got[0].Text(ValuesOf(s)); text != tc.text {
				t.Errorf("%s: %q, want %q", tc.why, text, tc.text)
			}
		}
	}
	if v := ValuesOf(nil); LeavesBelow("spec.serviceNetwork")[0].Text(v) != "" {
		t.Error("no specification has a value")
	}
}
