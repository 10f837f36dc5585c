// Package manifest holds the Kubernetes objects that the operator wants, as values: how they are read from
// embedded YAML, put in the order in which they are applied, and written out again.
//
// It is pure: it reads nothing but the file systems and readers it is given.
package manifest

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Policy says how an object is to be applied. The zero value is right for most objects: created, kept as
// wanted, and deleted when it is no longer rendered.
type Policy struct {
	// CreateOnly objects are created when they are missing, and never changed afterwards.
	CreateOnly bool
	// IgnoreMissingKind objects are left out while the API server does not serve their kind, and applied when it
	// does. Without it, a kind that is not served is an error.
	IgnoreMissingKind bool
	// NonCritical workloads do not hold up Available, nor the deletion of what they replace.
	NonCritical bool
}

// Object is one Kubernetes object that the operator wants. Object carries no status, no empty values and no
// fields that the server sets.
type Object struct {
	Object *unstructured.Unstructured
	Policy Policy
}
