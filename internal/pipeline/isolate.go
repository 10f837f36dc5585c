package pipeline

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// denyPolicy is the name of the NetworkPolicy that denies all traffic that no other one in its namespace allows.
const denyPolicy = "default-deny"

// isolate returns the NetworkPolicies for the objects of one part: in every namespace one that denies all traffic, and one for each
// workload on the pod network with the rules of its provider.Workload. NetworkPolicies do not affect pods on the host network.
// owners are the objects of the parts before. A workload without rules, and one that is not in known, gets no policy of its own.
func isolate(objects []manifest.Object, owners map[manifest.Key]string, known []provider.Workload) ([]manifest.Object, error) {
	isolated := func(namespace string) bool {
		key := manifest.Key{Kind: "Namespace", Name: namespace}
		return owners[key] != "" || slices.ContainsFunc(objects, func(o manifest.Object) bool { return o.Object != nil && o.Key() == key })
	}
	var policies []manifest.Object
	add := func(namespace, name string, spec networkingv1.NetworkPolicySpec) error {
		spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
		o, err := manifest.New(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}, manifest.Policy{})
		policies = append(policies, o)
		return err
	}
	for _, o := range objects {
		switch {
		case o.Object == nil:
		case o.Key().GroupKind() == manifest.Key{Kind: "Namespace"}.GroupKind():
			if err := add(o.Object.GetName(), denyPolicy, networkingv1.NetworkPolicySpec{}); err != nil {
				return nil, err
			}
		case manifest.IsWorkload(o.Key().GroupKind()) && isolated(o.Object.GetNamespace()) && onPodNetwork(o.Object):
			app, _, _ := unstructured.NestedString(o.Object.Object, "spec", "template", "metadata", "labels", labelApp)
			i := slices.IndexFunc(known, func(w provider.Workload) bool { return w.Name == app })
			if i < 0 || len(known[i].Ingress)+len(known[i].Egress) == 0 {
				continue
			}
			err := add(o.Object.GetNamespace(), app, networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{labelApp: app}}, Ingress: known[i].Ingress, Egress: known[i].Egress,
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return policies, nil
}

// onPodNetwork reports whether the pods of a workload use the pod network; false for a workload without pods.
func onPodNetwork(o *unstructured.Unstructured) bool {
	pod, found, err := unstructured.NestedMap(o.Object, "spec", "template")
	if !found || err != nil {
		return false
	}
	onHost, _, _ := unstructured.NestedBool(pod, "spec", "hostNetwork")
	return !onHost
}
