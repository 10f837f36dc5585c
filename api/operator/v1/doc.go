// Package v1 is the operator.openshift.io/v1 API group as this operator serves it: the Network object,
// which configures the network of a cluster and reports its state.
//
// It is a superset of the type of the same name in github.com/openshift/api: every field of that type
// keeps its JSON name and its meaning, so that an object of an OpenShift cluster passes through without
// loss. It adds the settings of the providers that OpenShift's type does not have, and a list of
// components in the status.
//
// +kubebuilder:object:generate=true
// +groupName=operator.openshift.io
package v1
