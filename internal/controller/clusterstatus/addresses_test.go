package clusterstatus

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/cluster-network-operator/cno/internal/status"
)

func nodeAt(name string, ready bool, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	state := corev1.ConditionUnknown
	if ready {
		state = corev1.ConditionTrue
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: state}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

func podAt(host bool, addresses ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}, Spec: corev1.PodSpec{NodeName: "a", HostNetwork: host}}
	for _, ip := range addresses {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return p
}

// TestPodsWithAFormerAddressOfTheirNodeAreFound: the kubelet never changes the addresses of a pod on the network of its node.
func TestPodsWithAFormerAddressOfTheirNodeAreFound(t *testing.T) {
	deleted := podAt(true, "192.0.2.1")
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for _, tc := range []struct {
		why  string
		node *corev1.Node
		pod  *corev1.Pod
		want string
	}{
		{"the address of its node", nodeAt("a", true, "192.0.2.1"), podAt(true, "192.0.2.1"), ""},
		{"one that its node had", nodeAt("a", true, "192.0.2.9"), podAt(true, "192.0.2.1"), "192.0.2.1"},
		{"one of two families", nodeAt("a", true, "192.0.2.1", "2001:db8::9"), podAt(true, "192.0.2.1", "2001:db8::1"), "2001:db8::1"},
		{"a family that the node got later", nodeAt("a", true, "192.0.2.1", "2001:db8::9"), podAt(true, "192.0.2.1"), ""},
		{"a pod on the pod network", nodeAt("a", true, "192.0.2.9"), podAt(false, "10.244.0.2"), ""},
		{"a pod that has none yet", nodeAt("a", true, "192.0.2.9"), podAt(true), ""},
		{"a pod that is being deleted", nodeAt("a", true, "192.0.2.9"), deleted, ""},
		{"a node without addresses", nodeAt("a", true), podAt(true, "192.0.2.1"), ""},
		{"a node whose kubelet does not respond", nodeAt("a", false, "192.0.2.9"), podAt(true, "192.0.2.1"), ""},
		{"another node", nodeAt("b", true, "192.0.2.9"), podAt(true, "192.0.2.1"), ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			var l nodeList
			l.dirty.Store(true)
			if err := l.read(t.Context(), func(context.Context) ([]*corev1.Node, error) { return []*corev1.Node{tc.node}, nil }); err != nil {
				t.Fatal(err)
			}
			if o, ok := l.outdatedAddress(tc.pod); ok != (tc.want != "") || o.podAddress != tc.want {
				t.Errorf("found %t: %+v", ok, o)
			}
		})
	}
}

func TestANewAddressOfANodeIsAChange(t *testing.T) {
	var l nodeList
	if l.changed().Update(event.UpdateEvent{ObjectOld: nodeAt("a", true, "192.0.2.1"), ObjectNew: nodeAt("a", true, "192.0.2.1")}) {
		t.Error("a node that did not change is")
	}
	if !l.changed().Update(event.UpdateEvent{ObjectOld: nodeAt("a", true, "192.0.2.1"), ObjectNew: nodeAt("a", true, "192.0.2.9")}) || !l.dirty.Load() {
		t.Error("it is not")
	}
}

func TestPodsWithOutdatedAddressesAreNamedWithTheWayOut(t *testing.T) {
	w := status.Workload{Kind: "DaemonSet", Namespace: "openshift-flannel", Name: "flanneld", Component: "Flannel"}
	var pods []outdated
	for _, name := range []string{"d", "b", "a", "c"} {
		pods = append(pods, outdated{"openshift-flannel", "flanneld-" + name, "node-" + name, "192.0.2.1", "192.0.2.9"})
	}
	f := addressFinding(w, pods)
	if f.Effect != status.Degraded || !f.Aside || f.Immediate || f.Component != "Flannel" || f.Reason != reasonPodAddress {
		t.Errorf("%+v", f)
	}
	for _, want := range []string{
		"DaemonSet", "openshift-flannel/flanneld", "pod flanneld-a on node node-a (192.0.2.1, and the node has 192.0.2.9)", "flanneld-c", " and 1 more;",
		"kubectl -n openshift-flannel delete pod flanneld-a",
	} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("%q is missing in %s", want, f.Message)
		}
	}
	if strings.Contains(f.Message, "flanneld-d") {
		t.Errorf("too many are named: %s", f.Message)
	}
}
