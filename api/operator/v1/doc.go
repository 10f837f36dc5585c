// Package v1 is the operator.openshift.io/v1 API group as this operator serves it: the Network object
// that says what the network of a cluster is, and reports how it does.
//
// It is a superset of the type of the same name in github.com/openshift/api: every field of that type
// keeps its JSON name and its meaning, so that an object of an OpenShift cluster passes through without
// loss. Added are the settings of the providers that OpenShift's type does not know, and a list of
// components in the status.
//
// +kubebuilder:object:generate=true
// +groupName=operator.openshift.io
package v1
