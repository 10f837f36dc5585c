package provider

import "context"

// Examiner is a provider that compares the state of its network with the Kubernetes API, for `cno doctor`.
type Examiner interface {
	// Examine reads objects and runs commands in pods of the network until everything is compared or the context ends. It returns the symptoms
	// that were found until then. TraceAccess.Spec may be nil.
	Examine(ctx context.Context, at TraceAccess) Examination
}

// Examination is the result of an Examiner.
type Examination struct {
	Symptoms []Symptom
	// Missing are sentences about state that could not be compared, with the cause.
	Missing []string
}

// Symptom is a difference from the Kubernetes API.
type Symptom struct {
	// Severe is true if traffic may fail because of it.
	Severe bool
	// What names the objects, Cause is a clause, WayOut the remedy.
	What, Cause, WayOut string
}
