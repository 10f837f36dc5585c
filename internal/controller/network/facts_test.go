package network

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/facts"
)

func aNode(name, kernel string, age time.Duration, role string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u-" + "x", CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age))}}
	if role != "" {
		n.Labels = map[string]string{role: ""}
	}
	n.Status.NodeInfo.KernelVersion = kernel
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

func TestFactsComeFromNodes(t *testing.T) {
	nodes := []*corev1.Node{
		aNode("worker", "5.14.0-427.el9.x86_64", 0, "", "192.0.2.9", "2001:db8::9", "no address"),
		aNode("cp-b", "6.1", time.Hour, "node-role.kubernetes.io/control-plane", "192.0.2.2"),
		aNode("cp-a", "garbage", time.Hour, "node-role.kubernetes.io/master"), // the former name of the role, and no address yet
		aNode("cp-old", "6.18.44-fc", 2*time.Hour, "node-role.kubernetes.io/control-plane", "192.0.2.3"),
	}
	got := Facts(facts.Cluster{Platform: "None", ReleaseVersion: "v1"}, nodes, 1450)
	want := facts.Cluster{
		Platform: "None", ReleaseVersion: "v1", HostMTU: 1450, NodeCount: 4, OldestKernel: facts.KernelVersion{Major: 5, Minor: 14},
		NodeAddresses: map[string][]netip.Addr{
			"worker": {netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("2001:db8::9")},
			"cp-b":   {netip.MustParseAddr("192.0.2.2")}, "cp-a": nil, "cp-old": {netip.MustParseAddr("192.0.2.3")},
		},
		ControlPlane: []facts.Node{
			{Name: "cp-old", UID: "u-x", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.3")}},
			{Name: "cp-a", UID: "u-x"},
			{Name: "cp-b", UID: "u-x", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.2")}},
		},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func FuzzKernel(f *testing.F) {
	f.Add("6.18.44-fc-v595")
	f.Add("5.")
	f.Add("..")
	f.Fuzz(func(t *testing.T, version string) {
		if k, ok := facts.ParseKernelVersion(version); ok && (k.Major < 0 && k.Minor < 0) {
			t.Errorf("%q is %v", version, k)
		}
	})
}
