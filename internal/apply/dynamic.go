package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// NewClient returns a Client of an API server. The manager is the field manager, which must not change between releases.
// The mapper must discover new APIs, as that of controller-runtime does.
func NewClient(api dynamic.Interface, mapper meta.RESTMapper, manager string) Client {
	return &dynamicClient{api: api, mapper: mapper, manager: manager}
}

type dynamicClient struct {
	api     dynamic.Interface
	mapper  meta.RESTMapper
	manager string
}

// resource returns the client for objects of a kind.
func (c *dynamicClient) resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.api.Resource(mapping.Resource), nil
	}
	if namespace == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("a %s needs a namespace", gvk.Kind))
	}
	return c.api.Resource(mapping.Resource).Namespace(namespace), nil
}

func (c *dynamicClient) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	r, err := c.resource(ref.GroupVersionKind, ref.Namespace)
	if err != nil {
		return nil, err
	}
	return r.Get(ctx, ref.Name, metav1.GetOptions{})
}

func (c *dynamicClient) Apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	r, err := c.resource(obj.GroupVersionKind(), obj.GetNamespace())
	if err != nil {
		return nil, err
	}
	return r.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: c.manager, Force: true})
}

func (c *dynamicClient) Replace(ctx context.Context, obj *unstructured.Unstructured) error {
	r, err := c.resource(obj.GroupVersionKind(), obj.GetNamespace())
	if err != nil {
		return err
	}
	manager := c.manager + "-replace"
	written, err := r.Update(ctx, obj, metav1.UpdateOptions{FieldManager: manager})
	if err != nil {
		return err
	}
	// The update owns the fields that it has changed. Then a field that Apply drops would stay.
	kept := slices.DeleteFunc(written.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager })
	written.SetManagedFields(kept)
	_, err = r.Update(ctx, written, metav1.UpdateOptions{FieldManager: manager})
	return err
}

func (c *dynamicClient) Delete(ctx context.Context, ref Ref, uid types.UID, propagation metav1.DeletionPropagation) error {
	r, err := c.resource(ref.GroupVersionKind, ref.Namespace)
	if err != nil {
		return err
	}
	return r.Delete(ctx, ref.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &propagation})
}

func (c *dynamicClient) InUse(ctx context.Context, crd *unstructured.Unstructured) (bool, error) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["served"] != true {
			continue
		}
		gvr := schema.GroupVersionResource{Group: group, Version: fmt.Sprint(version["name"]), Resource: plural}
		list, err := c.api.Resource(gvr).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return false, err
		}
		return len(list.Items) > 0, nil
	}
	return true, nil // no version is served: unknown
}
