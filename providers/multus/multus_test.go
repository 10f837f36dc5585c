package multus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/provider"
)

func TestDefaultsAreExplicitAndTheInputIsNotChanged(t *testing.T) {
	yes := true
	for _, tc := range []struct {
		why     string
		spec    operatorv1.NetworkSpec
		off     bool
		policy  bool
		enabled bool
	}{
		{"nothing set", operatorv1.NetworkSpec{}, false, false, true},
		{"turned off", operatorv1.NetworkSpec{DisableMultiNetwork: &yes}, true, false, false},
		{"policies asked for", operatorv1.NetworkSpec{UseMultiNetworkPolicy: &yes}, false, true, true},
	} {
		before := tc.spec.DeepCopy()
		got := component().Default(&tc.spec, nil, provider.Traits{}, facts.Cluster{})
		if diff := cmp.Diff(before, &tc.spec); diff != "" {
			t.Errorf("%s: the input was changed: %s", tc.why, diff)
		}
		if m := got.MultiNetwork; (m != nil) != tc.enabled || m != nil && (!*m.NamespaceIsolation || m.Attachments != operatorv1.AttachmentsTrusted || len(m.GlobalNamespaces) != 4) {
			t.Errorf("%s: spec.multiNetwork is %+v", tc.why, m)
		}
		if *got.DisableMultiNetwork != tc.off || *got.UseMultiNetworkPolicy != tc.policy || component().Enabled(got) != tc.enabled || component().Enabled(&tc.spec) != tc.enabled {
			t.Errorf("%s: got %+v", tc.why, got)
		}
		if diff := cmp.Diff(got, component().Default(got, got, provider.Traits{}, facts.Cluster{})); diff != "" {
			t.Errorf("%s: filling again changes it: %s", tc.why, diff)
		}
	}
}

func TestCannotBeEnabledOrDisabledInUse(t *testing.T) {
	on, off := &operatorv1.NetworkSpec{DisableMultiNetwork: new(bool)}, &operatorv1.NetworkSpec{DisableMultiNetwork: new(bool)}
	*off.DisableMultiNetwork = true
	more := on.DeepCopy()
	more.UseMultiNetworkPolicy = off.DisableMultiNetwork
	more.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{{Name: "x", Type: osv1.NetworkTypeSimpleMacvlan}}
	for _, tc := range []struct {
		why        string
		prev, next *operatorv1.NetworkSpec
		refused    bool
	}{
		{"turned off", on, off, true},
		{"turned on", off, on, true},
		{"unset is the same as false", &operatorv1.NetworkSpec{}, on, false},
		{"other networks, and policies", on, more, false},
	} {
		errs := component().CheckChange(tc.prev, tc.next)
		if (len(errs) > 0) != tc.refused {
			t.Errorf("%s: %v", tc.why, errs)
		}
		const want = "cannot change DisableMultiNetwork: running pods would keep networks that are no longer served, or lack networks that they should have; put the old value back, or force the change as docs/safety.md describes"
		if tc.refused && (errs[0].Detail != want || errs[0].Field != "spec.disableMultiNetwork" || errs[0].Origin != RuleChange) {
			t.Errorf("%s: %v", tc.why, errs)
		}
	}
}

// TestRequestedNetworks: definitions of default networks are in the namespace of the component, those of further networks in that of the pod.
func TestRequestedNetworks(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Annotations: map[string]string{wire.AnnotationNetworks: "a,default/b", wire.AnnotationDefault: "c"}}}
	want := []client.ObjectKey{{Namespace: "tenant", Name: "a"}, {Namespace: "default", Name: "b"}, {Namespace: Namespace, Name: "c"}}
	if diff := cmp.Diff(want, requestedNetworks(p)); diff != "" {
		t.Error(diff)
	}
}

func TestPodsThatADaemonHasToDetach(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{wire.AnnotationNetworks: "plant"}}, Spec: corev1.PodSpec{NodeName: "worker-0"}}
		change(p)
		return p
	}
	for _, row := range []struct {
		why    string
		change func(*corev1.Pod)
		want   bool
	}{
		{"it requests a network", func(*corev1.Pod) {}, true},
		{"it requests another default network", func(p *corev1.Pod) { p.Annotations = map[string]string{wire.AnnotationDefault: "plant"} }, true},
		{"it requests none", func(p *corev1.Pod) { p.Annotations = nil }, false},
		{"it has no node yet", func(p *corev1.Pod) { p.Spec.NodeName = "" }, false},
		{"it uses the network of the host", func(p *corev1.Pod) { p.Spec.HostNetwork = true }, false},
		{"it has terminated, and its sandbox with it", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, false},
		{"it is an egress router, which the operator's uninstallation deletes", func(p *corev1.Pod) { p.Labels = map[string]string{"app": EgressRouterApp} }, false},
	} {
		if got := attached(pod(row.change)); got != row.want {
			t.Errorf("%s: %t", row.why, got)
		}
	}
}
