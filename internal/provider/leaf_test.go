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

func TestClearedFieldHasNoValueAndOthersAreKept(t *testing.T) {
	s := spec(func(s *operatorv1.NetworkSpec, c *operatorv1.FlannelConfig) {
		s.ServiceNetwork, s.LogLevel = []string{"10.96.0.0/16"}, "Debug"
		c.VXLAN = &operatorv1.FlannelVXLAN{VNI: new(uint32(1)), Port: new(uint32(8472))}
		s.KubeProxyConfig = &osv1.ProxyConfig{ProxyArguments: map[string]osv1.ProxyArgumentList{"v": {"4"}}}
	})
	before := ValuesOf(s)
	all := LeavesBelow("spec")
	for _, l := range all {
		after := ValuesOf(l.Cleared(s))
		for _, other := range all {
			want := other.Text(before)
			if other.Path == l.Path {
				want = ""
			}
			// What is no pointer is written although it is false.
			if got := other.Text(after); got != want && !(want == "" && got == "false") {
				t.Errorf("without %s, %s is %q, want %q", l.Path, other.Path, got, want)
			}
		}
	}
	if d := cmp.Diff(before.spec, ValuesOf(s).spec); d != "" {
		t.Errorf("the original changed: %s", d)
	}
	if (Leaf{Path: "spec.logLevel"}).Cleared(nil) != nil {
		t.Error("no specification became one")
	}
}

func TestLeavesOfAnotherKind(t *testing.T) {
	type inner struct {
		A string `json:"a"`
	}
	type kind struct {
		inner  `json:",inline"`
		Hidden string   `json:"-"`
		B      *bool    `json:"b,omitempty"`
		C      [][]byte `json:"c"`
	}
	want := []Leaf{{"spec.a", Single, nil}, {"spec.b", Single, nil}, {"spec.c", Opaque, nil}}
	if d := cmp.Diff(want, LeavesOf[kind]()); d != "" {
		t.Error(d)
	}
}
