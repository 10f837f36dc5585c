package pipeline

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
