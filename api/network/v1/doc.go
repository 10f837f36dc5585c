// Package v1 is the network.operator.openshift.io/v1 API group. HostNetworkConfig says how the hosts of a role are
// connected to their network before Kubernetes runs on them.
//
// +kubebuilder:object:generate=true
// +groupName=network.operator.openshift.io
package v1
