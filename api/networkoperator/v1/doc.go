// Package v1 is the networkoperator.openshift.io/v1 API group: NetworkConfig, the short form of the
// configuration of a cluster's network. A small controller turns the object named "default" into
// Network.operator.openshift.io/cluster and mirrors the status back.
//
// +kubebuilder:object:generate=true
// +groupName=networkoperator.openshift.io
package v1
