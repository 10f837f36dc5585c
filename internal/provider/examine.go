package provider

import "context"

// Examiner is a provider that compares what its network has in the cluster with the Kubernetes API, for `cno doctor`.
type Examiner interface {
	// Examine reads objects, and runs commands in pods of the network, until everything is compared or the context ends: what was found until then counts.
	// TraceAccess.Spec may be nil.
	Examine(ctx context.Context, at TraceAccess) Examination
}

// Examination is the result of an Examiner.
type Examination struct {
	Symptoms []Symptom
	// Missing are sentences on what could not be compared, and why.
	Missing []string
}

// Symptom is something that does not agree with the Kubernetes API.
type Symptom struct {
	// Severe is true if traffic may fail because of it.
	Severe bool
	// What names the objects, Cause is a clause, WayOut what to do.
	What, Cause, WayOut string
}
