package admission

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// TestAnnotatorsOnlyAnnotate tries with the token of a service account what its role alone would let it do.
func TestAnnotatorsOnlyAnnotate(t *testing.T) {
	s := apitest.Shared(t)
	const namespace, name = "default", "annotator"
	account, err := s.ClientFor(s.ServiceAccount(t, namespace, name))
	if err != nil {
		t.Fatal(err)
	}
	verbs := []string{"get", "patch", "update"}
	s.Create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: verbs}}})
	s.Create(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}})
	policies, bindings := permissions(provider.Operands{Annotators: []provider.Annotator{{Namespace: namespace, Name: name, Resources: []string{"nodes", "pods"}, Prefix: "k8s.ovn.org/"}}})
	last := len(policies) - 1
	s.Create(t, &policies[last])
	s.Create(t, &bindings[last])
	meta := metav1.ObjectMeta{Name: "annotated", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"k8s.ovn.org/old": "1", "other": "1"}}
	node := &corev1.Node{ObjectMeta: meta}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}}
	pod.Namespace = namespace
	s.Create(t, node)
	s.Create(t, pod)
	patch := func(o client.Object, body string) error {
		return account.Patch(t.Context(), o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
	const foreign = `{"metadata":{"annotations":{"other":"2"}}}`
	eventually.Succeeds(t, "the policies are in effect", func() error { // the policy is in effect, and the role was before
		if err := patch(node, foreign); err == nil || !strings.Contains(err.Error(), "annotations-only") {
			return fmt.Errorf("the policy is not in effect: %v", err)
		}
		return nil
	})
	for _, tc := range []struct {
		why, body string
		on        []client.Object
		allowed   bool
	}{
		{"one of its annotations is set", `{"metadata":{"annotations":{"k8s.ovn.org/new":"1"}}}`, []client.Object{node, pod}, true},
		{"... changed", `{"metadata":{"annotations":{"k8s.ovn.org/old":"2"}}}`, []client.Object{node, pod}, true},
		{"... and removed", `{"metadata":{"annotations":{"k8s.ovn.org/old":null}}}`, []client.Object{node, pod}, true},
		{"another annotation is changed", foreign, []client.Object{node, pod}, false},
		{"... set", `{"metadata":{"annotations":{"third":"2","k8s.ovn.org/new":"1"}}}`, []client.Object{node, pod}, false},
		{"... and removed", `{"metadata":{"annotations":{"other":null}}}`, []client.Object{node, pod}, false},
		{"all annotations are removed", `{"metadata":{"annotations":null}}`, []client.Object{node, pod}, false},
		{"a label, by which NetworkPolicies select", `{"metadata":{"labels":{"a":"c"}}}`, []client.Object{node, pod}, false},
		{"a finalizer, which keeps an object", `{"metadata":{"finalizers":["a.example/b"]}}`, []client.Object{node, pod}, false},
		{"an owner, by which an object is deleted", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1"}]}}`, []client.Object{node, pod}, false},
		{"a taint, which moves pods", `{"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}}`, []client.Object{node}, false},
		{"no more pods on a node", `{"spec":{"unschedulable":true}}`, []client.Object{node}, false},
		{"another image", `{"spec":{"containers":[{"name":"a","image":"b:1"}]}}`, []client.Object{pod}, false},
	} {
		for _, o := range tc.on {
			err := patch(o, tc.body)
			if tc.allowed && err != nil || !tc.allowed && (err == nil || !strings.Contains(err.Error(), "annotations-only")) {
				t.Errorf("%s (%T): %v, want allowed: %v", tc.why, o, err, tc.allowed)
			}
		}
	}
	if err := s.Client.Patch(t.Context(), node, client.RawPatch(types.MergePatchType, []byte(foreign))); err != nil {
		t.Errorf("the policy affects others: %v", err)
	}
}
