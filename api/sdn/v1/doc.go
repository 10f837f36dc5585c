// Package v1 is the network.openshift.io/v1 API group: what the network OpenShiftSDN stores in the API. ClusterNetwork is its
// configuration, a HostSubnet is a node of it, a NetNamespace a namespace, and EgressNetworkPolicy is the egress firewall of a namespace.
// Names and fields are those of OpenShift, so that oc and manifests that were written for it work unchanged.
//
// Objects that an older cluster stored may break the rules of the CRDs, so that programs check what they read again.
//
// +kubebuilder:object:generate=true
// +groupName=network.openshift.io
package v1
