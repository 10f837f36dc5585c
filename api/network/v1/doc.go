// Package v1 is the network.operator.openshift.io/v1 API group. HostNetworkConfig says how the hosts of a role are
// connected to their network before Kubernetes runs on them. EgressRouter gives pods a way out of the cluster with an address of
// its own; objects that were written for OpenShift's definition of it can be read and written with this one.
// OperatorPKI is an authority and one certificate that it signs.
//
// +kubebuilder:object:generate=true
// +groupName=network.operator.openshift.io
package v1
