// Package v1 is the network.operator.openshift.io/v1 API group. HostNetworkConfig configures the network
// of the hosts of a role before Kubernetes runs on them. EgressRouter routes traffic of pods out of the cluster with a fixed
// source address; it is compatible with objects that were written for OpenShift's CRD.
// OperatorPKI is a CA and one certificate that it signs.
//
// +kubebuilder:object:generate=true
// +groupName=network.operator.openshift.io
package v1
