package ingressconfig

import (
	"bytes"
	"slices"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels by which NetworkPolicies select the traffic of ingress controllers. A policy cannot distinguish pods on the
// host network: their traffic counts as traffic from the namespace of the host network.
const (
	labelIngress             = "policy-group.network.openshift.io/ingress"
	labelLegacy, valueLegacy = "network.openshift.io/policy-group", "ingress"
)

// labels returns both labels.
func labels() map[string]string { return map[string]string{labelIngress: "", labelLegacy: valueLegacy} }

// managerPrefix is the prefix of the field managers of this operator, and of OpenShift's.
const managerPrefix = "cluster-network-operator/"

// decision is the change of the namespace.
type decision struct {
	// set is true if the labels must be set.
	set bool
	// remove are the labels to remove.
	remove []string
}

// decide compares the labels of the namespace with the status of the ingress controllers. One that is being deleted counts.
func decide(controllers []osv1.IngressController, namespace *metav1.PartialObjectMetadata) decision {
	if slices.ContainsFunc(controllers, onHostNetwork) {
		for key, value := range labels() {
			if live, ok := namespace.Labels[key]; !ok || live != value {
				return decision{set: true}
			}
		}
		return decision{}
	}
	var d decision
	for key, value := range labels() {
		if live, ok := namespace.Labels[key]; ok && live == value && setByOperator(namespace, key) {
			d.remove = append(d.remove, key)
		}
	}
	slices.Sort(d.remove)
	return d
}

// onHostNetwork reports whether an ingress controller is published on the host network, according to its status.
func onHostNetwork(c osv1.IngressController) bool {
	s := c.Status.EndpointPublishingStrategy
	return s != nil && s.Type == osv1.HostNetworkStrategyType
}

// setByOperator reports whether this operator has set a label. Labels of other clients are not removed.
func setByOperator(o *metav1.PartialObjectMetadata, label string) bool {
	return slices.ContainsFunc(o.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(e.Manager, managerPrefix) && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:`+label+`"`))
	})
}
