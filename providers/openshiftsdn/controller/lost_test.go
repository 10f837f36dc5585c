package controller_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// running creates a pod on a node, with an address and an owner.
func (w *world) running(name, node, address string, owner *metav1.OwnerReference, change func(*corev1.Pod)) *corev1.Pod {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}}}
	if owner != nil {
		p.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}}
	if change != nil {
		change(p)
	}
	status := p.Status
	w.must(w.api.Create(w.t.Context(), p))
	w.t.Cleanup(func() { _ = w.api.Delete(context.Background(), p, client.GracePeriodSeconds(0)) })
	apitest.ChangeStatus(w.t, w.api, p, func() { p.Status = status })
	return p
}

// reported is running with the Event by which the agent reports the pod.
func (w *world) reported(name, node, address string, owner *metav1.OwnerReference, change func(*corev1.Pod)) *corev1.Pod {
	w.t.Helper()
	p := w.running(name, node, address, owner, change)
	w.lost(p, p.UID)
	return p
}

// lost creates the Event about a pod.
func (w *world) lost(p *corev1.Pod, uid types.UID) {
	w.t.Helper()
	w.must(w.api.Create(w.t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, GenerateName: p.Name + "-"}, Reason: agentconfig.ReasonPodAddressLost, Message: "the node has another block", Type: corev1.EventTypeWarning,
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: uid},
	}))
}

// ending reports whether a pod is being deleted.
func (w *world) ending(p *corev1.Pod) bool {
	w.t.Helper()
	now := &corev1.Pod{}
	w.must(w.api.Get(w.t.Context(), client.ObjectKeyFromObject(p), now))
	return now.DeletionTimestamp != nil
}

// TestPodsOfALostBlockAreEvicted: pods of controllers alone, and only if their address is not in the block of their node.
func TestPodsOfALostBlockAreEvicted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, agentconfig.NetworkPolicy)
	w.namespace("shop")
	w.node("a", "192.0.2.1")
	block := w.subnet("a").Subnet
	const elsewhere = "10.131.9.9"
	var first, second, third byte
	if _, err := fmt.Sscanf(block, "%d.%d.%d.", &first, &second, &third); err != nil {
		t.Fatal(err)
	}
	inside := fmt.Sprintf("%d.%d.%d.9", first, second, third)
	owner := func(kind string) *metav1.OwnerReference {
		return &metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: "owner", UID: "owner", Controller: new(true)}
	}
	set := owner("ReplicaSet")
	protected := w.reported("protected", "a", elsewhere, set, nil)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "protected"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: protected.Labels}}}
	w.must(w.api.Create(t.Context(), budget))
	t.Cleanup(func() { _ = w.api.Delete(context.Background(), budget) })
	stay := map[string]*corev1.Pod{
		"its address is in the block":             w.reported("inside", "a", inside, set, nil),
		"an address of no pool":                   w.reported("outside", "a", "192.0.2.77", set, nil),
		"no controller owns it":                   w.reported("alone", "a", elsewhere, nil, nil),
		"the owner is not its controller":         w.reported("owned", "a", elsewhere, &metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "owner"}, nil),
		"a pod of the kubelet":                    w.reported("static", "a", elsewhere, &metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "a", UID: "a", Controller: new(true)}, nil),
		"on the network of its node":              w.reported("host", "a", elsewhere, set, func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
		"it has ended":                            w.reported("ended", "a", elsewhere, set, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		"its node has no HostSubnet":              w.reported("unknown", "other", elsewhere, set, nil),
		"a PodDisruptionBudget does not allow it": protected,
	}
	again := w.running("again", "a", elsewhere, set, nil)
	w.lost(again, "former") // of the pod that had the name before
	stay["the Event is of a former pod"] = again
	evicted := w.reported("lost", "a", elsewhere, set, nil)
	eventually.Holds(t, "the pod with an address of the former block is evicted", func() (string, bool) { return "", w.ending(evicted) })
	for why, p := range stay {
		if w.ending(p) {
			t.Errorf("%s: the pod is evicted", why)
		}
	}
	w.must(w.api.Delete(t.Context(), budget))
	eventually.Holds(t, "the other one is evicted when it may be", func() (string, bool) { return "", w.ending(protected) })
}
