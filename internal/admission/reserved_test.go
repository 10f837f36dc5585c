package admission

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

const (
	addresses = "k8s.ovn.org/pod-networks"
	blocks    = "k8s.ovn.org/node-subnets"
	forged    = `{"default":{"ip_addresses":["10.244.0.9/24"]}}`
)

func ovnKubernetes(s *operatorv1.NetworkSpec) {
	s.DefaultNetwork = operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeOVNKubernetes}
}

// annotated is a pod with the annotation that only the master of OVN-Kubernetes writes.
func annotated(namespace, name, value string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}}
	if value != "" {
		p.Annotations = map[string]string{addresses: value}
	}
	return p
}

// TestOnlyTheMasterWritesTheAddressesOfPods tries every way in which an annotation gets onto a Pod or a Node, as an administrator of the cluster:
// others may do less.
func TestOnlyTheMasterWritesTheAddressesOfPods(t *testing.T) {
	d := newServer(t, inUse(ovnKubernetes))
	ns := d.Namespace(t)
	master, err := d.ClientFor(d.User(t, "system:serviceaccount:openshift-ovn-kubernetes:ovn-kubernetes-master", "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	free, pod, node := annotated(ns, "free", ""), annotated(ns, "given", ""), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "reserved"}}
	for _, o := range []client.Object{free, pod, node} {
		d.Create(t, o)
	}
	annotate := func(key, value string) client.Patch {
		return client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value)))
	}
	if err := master.Patch(t.Context(), pod, annotate(addresses, `"first"`)); err != nil {
		t.Fatalf("the master cannot give addresses: %v", err)
	}
	if err := master.Patch(t.Context(), node, annotate(blocks, `"first"`)); err != nil {
		t.Fatalf("the master cannot give blocks: %v", err)
	}
	copied := func(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }
	for _, tc := range []struct {
		why string
		try func() error
	}{
		{"a pod is created with an address", func() error { return d.Client.Create(t.Context(), annotated(ns, "forged", forged), client.DryRunAll) }},
		{"a pod that has none gets one", func() error {
			return d.Client.Patch(t.Context(), copied(free), annotate(addresses, `"x"`), client.DryRunAll)
		}},
		{"... with its status", func() error {
			return d.Client.Status().Patch(t.Context(), copied(free), annotate(addresses, `"x"`), client.DryRunAll)
		}},
		{"... when it is bound to a node", func() error {
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{addresses: forged}}, Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}}
			return d.Client.SubResource("binding").Create(t.Context(), free, binding, client.DryRunAll)
		}},
		{"a pod's address is changed", func() error {
			return d.Client.Patch(t.Context(), copied(pod), annotate(addresses, `"x"`), client.DryRunAll)
		}},
		{"... and removed", func() error {
			return d.Client.Patch(t.Context(), copied(pod), annotate(addresses, `null`), client.DryRunAll)
		}},
		{"a node is created with a block", func() error {
			return d.Client.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "forged", Annotations: map[string]string{blocks: "x"}}}, client.DryRunAll)
		}},
		{"a node's block is changed", func() error {
			return d.Client.Patch(t.Context(), copied(node), annotate(blocks, `"x"`), client.DryRunAll)
		}},
		{"... with its status", func() error {
			return d.Client.Status().Patch(t.Context(), copied(node), annotate(blocks, `"x"`), client.DryRunAll)
		}},
	} {
		if err := tc.try(); err == nil || !strings.Contains(err.Error(), "is written by the network of type OVNKubernetes only") {
			t.Errorf("%s: %v", tc.why, err)
		}
	}
	for why, try := range map[string]func() error{
		"another annotation": func() error {
			return d.Client.Patch(t.Context(), copied(pod), annotate("a.example/b", `"x"`), client.DryRunAll)
		},
		"a pod without annotations": func() error { return d.Client.Create(t.Context(), annotated(ns, "plain", ""), client.DryRunAll) },
		"the same value": func() error {
			return d.Client.Patch(t.Context(), copied(pod), annotate(addresses, `"first"`), client.DryRunAll)
		},
		"the annotation of pods on a node": func() error {
			return d.Client.Patch(t.Context(), copied(node), annotate(addresses, `"x"`), client.DryRunAll)
		},
		"a pod is bound": func() error {
			return d.Client.SubResource("binding").Create(t.Context(), free, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}}, client.DryRunAll)
		},
	} {
		if err := try(); err != nil {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// TestAnUnusedNetworkReservesNothing: pods restored from another cluster, and a namespace that is left of another network.
func TestAnUnusedNetworkReservesNothing(t *testing.T) {
	d := newServer(t, inUse())
	if err := d.Client.Create(t.Context(), annotated(d.Namespace(t), "restored", forged), client.DryRunAll); err != nil {
		t.Errorf("a pod with the annotation of another network: %v", err)
	}
	left := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-ovn-kubernetes"}}
	if err := client.IgnoreAlreadyExists(d.Client.Create(t.Context(), left)); err != nil {
		t.Fatal(err)
	}
	if err := d.Client.Delete(t.Context(), left, client.DryRunAll); err != nil {
		t.Errorf("the namespace of a network that is not in use: %v", err)
	}
	if err := d.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-kube-proxy"}}, client.DryRunAll); err == nil {
		t.Error("a namespace that every network needs is not protected")
	}
}
