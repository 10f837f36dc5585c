// Package manifest has the Kubernetes objects of the operator as values: it decodes them from embedded YAML, sorts them in
// the order in which they are applied, and encodes them.
//
// It is pure: it reads only from the given file systems and readers.
package manifest

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Policy controls how an object is applied. The zero value is right for most objects: they are created, kept as rendered,
// and deleted when they are no longer rendered.
type Policy struct {
	// CreateOnly objects are created when they are missing, and never changed afterwards.
	CreateOnly bool
	// IgnoreMissingKind objects are skipped while their API is unavailable, and applied when it becomes available.
	// Without it, an unavailable API is an error.
	IgnoreMissingKind bool
	// NonCritical workloads block neither Available nor the deletion of objects that they replace.
	NonCritical bool
}

// Object is one rendered Kubernetes object. It has no status, no empty values and no fields that the server sets.
type Object struct {
	Object *unstructured.Unstructured
	Policy Policy
}
