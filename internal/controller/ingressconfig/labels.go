package ingressconfig

import (
	"bytes"
	"slices"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The labels by which NetworkPolicies recognise the traffic of ingress controllers. A policy cannot tell the pods of a
// host network apart: to it, what comes from there is in the namespace of the host network.
const (
	labelIngress             = "policy-group.network.openshift.io/ingress"
	labelLegacy, valueLegacy = "network.openshift.io/policy-group", "ingress"
)

// labels are both.
func labels() map[string]string { return map[string]string{labelIngress: "", labelLegacy: valueLegacy} }

// managers is how the names of all field managers of this operator begin, and of the one that OpenShift ships.
const managers = "cluster-network-operator/"

// decision is what is to be done with a namespace.
type decision struct {
	// set is true if the labels are to be set.
	set bool
	// remove are the labels to remove.
	remove []string
}

// decide compares a namespace with what the ingress controllers report. One that is being deleted still runs.
func decide(controllers []osv1.IngressController, namespace *metav1.PartialObjectMetadata) decision {
	if slices.ContainsFunc(controllers, onHostNetwork) {
		for key, value := range labels() {
			if have, ok := namespace.Labels[key]; !ok || have != value {
				return decision{set: true}
			}
		}
		return decision{}
	}
	var d decision
	for key, value := range labels() {
		if have, ok := namespace.Labels[key]; ok && have == value && setByOperator(namespace, key) {
			d.remove = append(d.remove, key)
		}
	}
	slices.Sort(d.remove)
	return d
}

// onHostNetwork reports whether an ingress controller says that it publishes itself on the host network. What its
// specification wants is not in effect yet.
func onHostNetwork(c osv1.IngressController) bool {
	s := c.Status.EndpointPublishingStrategy
	return s != nil && s.Type == osv1.HostNetworkStrategyType
}

// setByOperator reports whether a label is this operator's. One that someone has set by hand is not its to remove.
func setByOperator(o *metav1.PartialObjectMetadata, label string) bool {
	return slices.ContainsFunc(o.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(e.Manager, managers) && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:`+label+`"`))
	})
}
