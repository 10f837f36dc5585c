package doctor

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

func addressed(name string, ready string, addresses ...string) map[string]any {
	state := conditions("Ready", ready, "", "")
	var list []any
	for _, a := range addresses {
		list = append(list, map[string]any{"type": "InternalIP", "address": a})
	}
	state["addresses"] = append(list, map[string]any{"type": "Hostname", "address": name})
	return thing(name, "", state)
}

func TestPodsWithAnOldAddressAreNamedWithTheCommand(t *testing.T) {
	nodes := []map[string]any{addressed("a", "True", "192.0.2.9", "2001:db8::9"), addressed("dead", "Unknown", "192.0.2.3"), addressed("new", "True")}
	for _, row := range []struct {
		why   string
		pods  []hostPod
		cause string
		ways  string
	}{
		{"nothing changed", []hostPod{{namespace: "x", name: "p", node: "a", addresses: []string{"192.0.2.9", "2001:db8::9"}}}, "", ""},
		{"one family of two changed", []hostPod{{namespace: "x", name: "p", node: "a", addresses: []string{"192.0.2.9", "2001:db8::1"}}},
			"x/p on node a (2001:db8::1, and the node has 192.0.2.9 and 2001:db8::9)", "kubectl -n x delete pod p"},
		{"a static pod, which deleting does not replace", []hostPod{{namespace: "x", name: "p", node: "a", addresses: []string{"192.0.2.1"}, static: true}},
			"x/p on node a (192.0.2.1", "move the manifest of p out of the kubelet's directory on node a and back"},
		{"a pod that nothing would create again", []hostPod{{namespace: "x", name: "p", node: "a", addresses: []string{"192.0.2.1"}, lone: true}},
			"x/p on node a", "delete pod p in namespace x and create it again"},
		{"a node that does not respond", []hostPod{{namespace: "x", name: "p", node: "dead", addresses: []string{"192.0.2.1"}}}, "", ""},
		{"a node without addresses yet", []hostPod{{namespace: "x", name: "p", node: "new", addresses: []string{"192.0.2.1"}}}, "", ""},
		{"a node that is not known", []hostPod{{namespace: "x", name: "p", node: "other", addresses: []string{"192.0.2.1"}}}, "", ""},
		{"a pod without an address yet", []hostPod{{namespace: "x", name: "p", node: "a"}}, "", ""},
	} {
		f := &collected{objects: map[string][]map[string]any{"nodes.": nodes}, hostPods: row.pods}
		found := false
		for _, finding := range evaluate(f, "openshift-network-operator", at) {
			if !strings.Contains(finding.What, "pods on the network of their node") {
				continue
			}
			found = true
			if row.cause == "" || !strings.Contains(finding.Cause, row.cause) || !strings.Contains(finding.WayOut, row.ways) || finding.Severity != Warning {
				t.Errorf("%s: got %+v, want %q and %q", row.why, finding, row.cause, row.ways)
			}
		}
		if !found && row.cause != "" {
			t.Errorf("%s: not found", row.why)
		}
	}
}

func TestManyPodsWithAnOldAddressAreCountedAndAFewNamed(t *testing.T) {
	var pods []hostPod
	for i := range 40 {
		pods = append(pods, hostPod{namespace: "x", name: fmt.Sprintf("p%d", i), node: "a", addresses: []string{"192.0.2.1"}})
	}
	all := addressFindings(pods, []map[string]any{addressed("a", "True", "192.0.2.9")}, nil)
	if len(all) != 1 || !strings.HasSuffix(all[0].What, ": 40") || strings.Count(all[0].WayOut, "kubectl") != mostNamed || !strings.HasSuffix(all[0].Cause, " and 35 more") {
		t.Errorf("%+v", all)
	}
}

func TestHostPodIsReadWithItsOwner(t *testing.T) {
	yes := true
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "p"}, Spec: corev1.PodSpec{NodeName: "a"}, Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "192.0.2.1"}}}}
	want := hostPod{namespace: "x", name: "p", node: "a", addresses: []string{"192.0.2.1"}, lone: true}
	check := func(why string) {
		t.Helper()
		if diff := cmp.Diff(want, hostPodOf(&pod), cmp.AllowUnexported(hostPod{})); diff != "" {
			t.Errorf("%s: %s", why, diff)
		}
	}
	check("without a controller")
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &yes}}
	want.lone = false
	check("of a DaemonSet")
	pod.OwnerReferences[0].Kind = "Node"
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	want.static = true
	check("of a file on the node")
}

func TestPodsOfOtherNamespacesAreReadAndNotArchived(t *testing.T) {
	server := apitest.Shared(t)
	ns, ctx := server.Namespace(t), t.Context()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "moved"}}
	if err := server.Client.Create(ctx, node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Client.Delete(context.Background(), node) })
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.9"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := server.Client.Status().Update(ctx, node); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		host bool
	}{{"on-the-host", true}, {"in-the-network", false}} {
		pod := plain(ns, row.name)
		pod.Spec.HostNetwork, pod.Spec.NodeName = row.host, node.Name
		if err := server.Client.Create(ctx, pod); err != nil {
			t.Fatal(err)
		}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "192.0.2.1", PodIPs: []corev1.PodIP{{IP: "192.0.2.1"}}}
		if err := server.Client.Status().Update(ctx, pod); err != nil {
			t.Fatal(err)
		}
	}
	out, archive, _ := call(t)
	if want := ns + "/on-the-host on node moved (192.0.2.1, and the node has 192.0.2.9)"; !strings.Contains(out, "the node no longer has: 1\n") || !strings.Contains(out, want) || strings.Contains(out, "in-the-network") {
		t.Errorf("want %q in\n%s", want, out)
	}
	for file := range archive {
		if strings.Contains(file, ns) {
			t.Errorf("%s of another namespace is in the archive", file)
		}
	}
}
