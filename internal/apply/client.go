package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Ref names an object for the API server.
type Ref struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// Client is what the executor asks of the API server. Errors are those of k8s.io/apimachinery/pkg/api/errors and, for
// kinds that are not served, of k8s.io/apimachinery/pkg/api/meta. None of the methods changes its arguments.
type Client interface {
	// Get returns an object as the API server has it, not from a cache.
	Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error)
	// Apply makes the object have the fields of obj, by server-side apply: it creates the object if need be, takes
	// fields over from others, and removes fields that the last Apply had. It returns the object that is there now.
	Apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Replace writes an object that Get has returned, changed, if no one else has changed it meanwhile. It owns no
	// field afterwards that Apply has not.
	Replace(ctx context.Context, obj *unstructured.Unstructured) error
	// Delete asks for the object with this UID to be deleted.
	Delete(ctx context.Context, ref Ref, uid types.UID, propagation metav1.DeletionPropagation) error
	// InUse reports whether there is an object of the kind that a CustomResourceDefinition defines.
	InUse(ctx context.Context, crd *unstructured.Unstructured) (bool, error)
}
