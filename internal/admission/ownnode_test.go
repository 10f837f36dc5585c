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

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

const networkStatus = "k8s.v1.cni.cncf.io/network-status"

// TestAnAgentAnnotatesObjectsOfItsNodeOnly tries, with the tokens of pods, what a role on the status of all pods alone would let an agent do.
func TestAnAgentAnnotatesObjectsOfItsNodeOnly(t *testing.T) {
	s := apitest.Shared(t)
	const namespace, name = "default", "node-agent"
	unbound, err := s.ClientFor(s.ServiceAccount(t, namespace, name))
	if err != nil {
		t.Fatal(err)
	}
	s.Create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/status"}, Verbs: []string{"patch"}}}})
	s.Create(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}})
	policies, bindings := permissions(provider.Operands{Annotators: []provider.Annotator{{
		Namespace: namespace, Name: name, Resources: []string{"pods/status"}, Annotation: networkStatus, OwnPod: "example.com/about-the-node", OwnNode: true,
	}}})
	last := len(policies) - 1
	s.Create(t, &policies[last])
	s.Create(t, &bindings[last])
	for _, node := range []string{"agent-one", "agent-two"} {
		s.Create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	}
	pod := func(name, node string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "agent-" + name, Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"other": "1"}},
			Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: "node-agent", TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}}
		s.Create(t, p)
		return p
	}
	daemon, own, foreign, waits := pod("daemon", "agent-one"), pod("own", "agent-one"), pod("foreign", "agent-two"), pod("waits", "")
	agent, err := s.ClientFor(s.Pod(t, daemon))
	if err != nil {
		t.Fatal(err)
	}
	unscheduled, err := s.ClientFor(s.Pod(t, waits))
	if err != nil {
		t.Fatal(err)
	}
	operatorItself, err := s.ClientFor(s.User(t, operator, "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	patch := func(by client.Client, o *corev1.Pod, body string) error {
		return by.Status().Patch(t.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
	const status = `{"metadata":{"annotations":{"k8s.v1.cni.cncf.io/network-status":"[]"}}}`
	eventually.Succeeds(t, "the policies are in effect", func() error { // the policy is in effect, and the role was before
		if err := patch(agent, foreign, status); err == nil || !strings.Contains(err.Error(), "annotations-own-node") {
			return fmt.Errorf("the policy is not in effect: %v", err)
		}
		return nil
	})
	for _, tc := range []struct {
		why  string
		by   client.Client
		on   *corev1.Pod
		body string
		want string // the rule that refuses it; empty if it is allowed
	}{
		{"the annotation of a pod on the agent's node", agent, own, status, ""},
		{"... of a pod on another node", agent, foreign, status, "annotations-own-node"},
		{"... of a pod that is on no node yet", agent, waits, status, "annotations-own-node"},
		{"with a token that is bound to no pod, as an administrator can request it", unbound, own, status, "annotations-own-node"},
		{"with the token of a pod that is on no node, on a pod that is on none either", unscheduled, waits, status, "annotations-own-node"},
		{"by the operator, which has the rules that it grants", operatorItself, own, status, "annotations-own-node"},
		{"the report about the node, on its own pod", agent, daemon, `{"metadata":{"annotations":{"example.com/about-the-node":"{}"}}}`, ""},
		{"... on another pod of its node", agent, own, `{"metadata":{"annotations":{"example.com/about-the-node":"{}"}}}`, "annotations-only"},
		{"another annotation", agent, own, `{"metadata":{"annotations":{"other":"2"}}}`, "annotations-only"},
		{"an annotation that only begins like it", agent, own, `{"metadata":{"annotations":{"k8s.v1.cni.cncf.io/network-status-2":"[]"}}}`, "annotations-only"},
		{"a label, by which policies and Services select", agent, own, `{"metadata":{"labels":{"a":"c"}}}`, "annotations-only"},
		{"an address, by which Services send packets", agent, own, `{"status":{"podIP":"192.0.2.1","podIPs":[{"ip":"192.0.2.1"}]}}`, "annotations-only"},
		{"a condition beside the annotation", agent, own,
			`{"metadata":{"annotations":{"k8s.v1.cni.cncf.io/network-status":"[]"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, "annotations-only"},
	} {
		if err := patch(tc.by, tc.on, tc.body); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.why, err, tc.want)
		}
	}
	if err := patch(s.Client, foreign, `{"metadata":{"annotations":{"other":"2"}}}`); err != nil {
		t.Errorf("the policy affects others: %v", err)
	}
}

// TestOnlyTheDaemonsOfFurtherNetworksReportThem tries every way in which the annotation gets onto a Pod, as an administrator of the cluster:
// others may do less.
func TestOnlyTheDaemonsOfFurtherNetworksReportThem(t *testing.T) {
	d := newServer(t, inUse())
	ns := d.Namespace(t)
	daemon, err := d.ClientFor(d.User(t, "system:serviceaccount:openshift-multus:multus", "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	pod := func(name string, annotations map[string]string) *corev1.Pod {
		p := annotated(ns, name, "")
		p.Annotations = annotations
		return p
	}
	free, reported := pod("free", nil), pod("reported", nil)
	d.Create(t, free)
	d.Create(t, reported)
	annotate := func(value string) client.Patch {
		return client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, networkStatus, value)))
	}
	if err := daemon.Patch(t.Context(), reported, annotate(`"first"`)); err != nil {
		t.Fatalf("the daemon cannot report: %v", err)
	}
	forged := map[string]string{networkStatus: `[{"name":"a/b","interface":"net1","ips":["192.0.2.9"]}]`}
	for why, try := range map[string]func() error{
		"a pod is created with it": func() error { return d.Client.Create(t.Context(), pod("forged", forged), client.DryRunAll) },
		"a pod gets it":            func() error { return d.Client.Patch(t.Context(), free.DeepCopy(), annotate(`"x"`), client.DryRunAll) },
		"... with its status": func() error {
			return d.Client.Status().Patch(t.Context(), free.DeepCopy(), annotate(`"x"`), client.DryRunAll)
		},
		"... when it is bound to a node": func() error {
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Annotations: forged}, Target: corev1.ObjectReference{Kind: "Node", Name: "a"}}
			return d.Client.SubResource("binding").Create(t.Context(), free.DeepCopy(), binding, client.DryRunAll)
		},
		"it is changed": func() error {
			return d.Client.Patch(t.Context(), reported.DeepCopy(), annotate(`"x"`), client.DryRunAll)
		},
		"it is removed": func() error {
			return d.Client.Patch(t.Context(), reported.DeepCopy(), annotate(`null`), client.DryRunAll)
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "is written by service account multus of namespace openshift-multus only") {
			t.Errorf("%s: %v", why, err)
		}
	}
	other := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"k8s.v1.cni.cncf.io/networks":"a"}}}`))
	if err := d.Client.Patch(t.Context(), reported.DeepCopy(), other, client.DryRunAll); err != nil {
		t.Errorf("another annotation: %v", err)
	}
}

// TestWithoutMultipleNetworksTheAnnotationIsUnrestricted: another component may attach pods to further networks, and write it.
func TestWithoutMultipleNetworksTheAnnotationIsUnrestricted(t *testing.T) {
	d := newServer(t, inUse(func(s *operatorv1.NetworkSpec) { s.DisableMultiNetwork = new(true) }))
	p := annotated(d.Namespace(t), "of-another", "")
	p.Annotations = map[string]string{networkStatus: "[]"}
	if err := d.Client.Create(t.Context(), p, client.DryRunAll); err != nil {
		t.Error(err)
	}
}
