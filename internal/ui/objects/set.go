// Package objects keeps Kubernetes objects in memory behind the interface client.Reader, so that the same code creates the pages of a
// cluster and of an archive.
package objects

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// ErrSelector is the error of a list with a field selector: a Set has no indices.
var ErrSelector = errors.New("objects in memory are not listed by fields")

// Set is a set of objects. It must be filled before it is read: Add is not safe for concurrent use. Use NewSet to create one.
type Set struct {
	scheme *runtime.Scheme
	kinds  map[schema.GroupVersionKind]*kind
}

// kind are the objects of one kind, in the order in which they were added.
type kind struct {
	order []client.Object
	byKey map[client.ObjectKey]client.Object
}

// NewSet returns an empty Set for the types of a scheme.
func NewSet(scheme *runtime.Scheme) *Set {
	return &Set{scheme: scheme, kinds: map[schema.GroupVersionKind]*kind{}}
}

// Add adds an object, whose type must be in the scheme. One of the same kind and name is replaced.
func (s *Set) Add(o client.Object) error {
	gvk, err := apiutil.GVKForObject(o, s.scheme)
	if err != nil {
		return err
	}
	k := s.kinds[gvk]
	if k == nil {
		k = &kind{byKey: map[client.ObjectKey]client.Object{}}
		s.kinds[gvk] = k
	}
	key := client.ObjectKeyFromObject(o)
	if _, exists := k.byKey[key]; exists {
		for i := range k.order {
			if client.ObjectKeyFromObject(k.order[i]) == key {
				k.order[i] = o
			}
		}
	} else {
		k.order = append(k.order, o)
	}
	k.byKey[key] = o
	return nil
}

// Get copies an object into o. Absence is an error for which apierrors.IsNotFound is true.
func (s *Set) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(o, s.scheme)
	if err != nil {
		return err
	}
	if k := s.kinds[gvk]; k != nil {
		if found := k.byKey[key]; found != nil {
			return assign(found, o)
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
}

// List lists the objects of a kind, restricted to the namespace and labels in options. The objects are shared: the caller must not change
// them.
func (s *Set) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(list, s.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	var o client.ListOptions
	o.ApplyOptions(options)
	if o.FieldSelector != nil && !o.FieldSelector.Empty() {
		return fmt.Errorf("list %s: %w", gvk.Kind, ErrSelector)
	}
	var found []runtime.Object
	if k := s.kinds[gvk]; k != nil {
		for _, one := range k.order {
			if (o.Namespace == "" || one.GetNamespace() == o.Namespace) && (o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(one.GetLabels()))) {
				found = append(found, one)
			}
		}
	}
	return meta.SetList(list, found)
}

// assign copies an object into another one of the same type.
func assign(from, into client.Object) error {
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(plain, into)
}
