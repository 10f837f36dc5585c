package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Ref is a reference to an object of the API server.
type Ref struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// Client has the requests of the executor. Errors are those of k8s.io/apimachinery/pkg/api/errors and, for unavailable
// APIs, of k8s.io/apimachinery/pkg/api/meta. Methods do not change their arguments.
type Client interface {
	// Get reads an object from the API server, not from a cache.
	Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error)
	// Apply applies obj by forced server-side apply: it creates the object if necessary, takes fields over from other
	// managers, and removes fields that only the last Apply had. It returns the stored object.
	Apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Replace updates a changed object that Get has returned, unless another client has changed it meanwhile. It takes no
	// ownership of fields.
	Replace(ctx context.Context, obj *unstructured.Unstructured) error
	// Delete deletes the object with a UID.
	Delete(ctx context.Context, ref Ref, uid types.UID, propagation metav1.DeletionPropagation) error
	// InUse reports whether objects of the kind of a CRD exist.
	InUse(ctx context.Context, crd *unstructured.Unstructured) (bool, error)
}
