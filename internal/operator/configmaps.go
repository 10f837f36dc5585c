package operator

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// configMaps gives access to a cache that has all ConfigMaps of some namespaces. Operands among them are read from it, since a separate
// watch of objects with the operator's label would keep them in memory twice. Nil has none.
type configMaps struct {
	cache      cache.Cache
	namespaces []string
}

// contains reports whether the cache has the objects of a scope.
func (c *configMaps) contains(s scope) bool {
	return c != nil && s.GroupKind == schema.GroupKind{Kind: "ConfigMap"} && slices.Contains(c.namespaces, s.namespace)
}

// informer returns the informer of all of them.
func (c *configMaps) informer(ctx context.Context) (cache.Informer, error) {
	return c.cache.GetInformer(ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
}

// only returns a handler for the events of one namespace.
func (c *configMaps) only(namespace string, h toolscache.ResourceEventHandler) toolscache.ResourceEventHandler {
	return toolscache.FilteringResourceEventHandler{Handler: h, FilterFunc: func(object any) bool {
		if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		m, err := meta.Accessor(object)
		return err == nil && m.GetNamespace() == namespace
	}}
}

// live returns a ConfigMap if it has the operator's label.
func (c *configMaps) live(key manifest.Key) (*unstructured.Unstructured, bool) {
	var cm corev1.ConfigMap
	if err := c.cache.Get(context.Background(), client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, &cm); err != nil || cm.Labels[manifest.LabelManagedBy] != manifest.ManagedBy {
		return nil, false
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&cm)
	if err != nil {
		return nil, false
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(key.Kind))
	return u, true
}
