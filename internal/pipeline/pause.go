package pipeline

import (
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// PausedAnnotation is the annotation of the Network that pauses the operator: it applies neither specification nor new
// version, and repairs no drift. Its value is "true".
const PausedAnnotation = "networkoperator.openshift.io/paused"

// The annotations that record who paused the operator, when (RFC 3339) and why. They are informational and optional.
const (
	PausedByAnnotation     = "networkoperator.openshift.io/paused-by"
	PausedAtAnnotation     = "networkoperator.openshift.io/paused-at"
	PausedReasonAnnotation = "networkoperator.openshift.io/paused-reason"
)

// Paused reports whether the Network is paused.
func Paused(n *operatorv1.Network) bool { return n.Annotations[PausedAnnotation] == "true" }

// Managed reports whether the operator may change the objects of the Network.
func Managed(n *operatorv1.Network) bool {
	return n.Spec.ManagementState != osv1.Unmanaged && !Paused(n)
}
