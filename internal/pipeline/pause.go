package pipeline

import (
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// PausedAnnotation is the annotation of the Network with which nothing is changed for a while, neither for the
// specification nor for drift nor for a new version. Its value is "true".
const PausedAnnotation = "networkoperator.openshift.io/paused"

// The annotations that say who has paused the operator, since when (RFC 3339) and why. They are for people; any may be
// missing.
const (
	PausedByAnnotation     = "networkoperator.openshift.io/paused-by"
	PausedAtAnnotation     = "networkoperator.openshift.io/paused-at"
	PausedReasonAnnotation = "networkoperator.openshift.io/paused-reason"
)

// Paused reports whether the Network is paused.
func Paused(n *operatorv1.Network) bool { return n.Annotations[PausedAnnotation] == "true" }

// Managed reports whether the operator may change what belongs to the Network.
func Managed(n *operatorv1.Network) bool {
	return n.Spec.ManagementState != osv1.Unmanaged && !Paused(n)
}
