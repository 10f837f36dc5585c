package operator

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// split is a manager's cache with another one for a few kinds. A controller starts when its whole cache is synced: kinds
// that only some controllers read, possibly without the permission yet, must not delay the others. The separate cache
// also has its own selectors and transforms.
type split struct {
	cache.Cache
	own    cache.Cache
	kinds  map[schema.GroupVersionKind]bool
	scheme *runtime.Scheme
}

// NeedLeaderElection returns false, like that of the manager's own cache.
func (s *split) NeedLeaderElection() bool { return false }

// Start runs the cache of the few kinds; the manager runs the other one.
func (s *split) Start(ctx context.Context) error { return s.own.Start(ctx) }

// of returns the cache for the kind of an object or a list; that of the manager for an unknown kind.
func (s *split) of(o runtime.Object) cache.Cache {
	gvk, err := apiutil.GVKForObject(o, s.scheme)
	if err != nil {
		return s.Cache
	}
	if _, list := o.(client.ObjectList); list {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	if s.kinds[gvk] {
		return s.own
	}
	return s.Cache
}

// Get reads an object from the cache of its kind.
func (s *split) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return s.of(o).Get(ctx, key, o, options...)
}

// List reads objects from the cache of their kind.
func (s *split) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return s.of(list).List(ctx, list, options...)
}

// GetInformer returns the informer for the kind of an object.
func (s *split) GetInformer(ctx context.Context, o client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	return s.of(o).GetInformer(ctx, o, options...)
}

// IndexField adds an index to the cache of the kind of an object.
func (s *split) IndexField(ctx context.Context, o client.Object, field string, value client.IndexerFunc) error {
	return s.of(o).IndexField(ctx, o, field, value)
}

// WaitForCacheSync waits for both caches.
func (s *split) WaitForCacheSync(ctx context.Context) bool {
	return s.Cache.WaitForCacheSync(ctx) && s.own.WaitForCacheSync(ctx)
}

// splitManager is a manager with a separate cache for a few kinds.
type splitManager struct {
	manager.Manager
	cache  *split
	client client.Client
}

// GetCache returns the cache that includes these kinds.
func (m splitManager) GetCache() cache.Cache { return m.cache }

// GetClient returns a client that reads from that cache.
func (m splitManager) GetClient() client.Client { return m.client }

// withSecrets returns a manager with a separate cache of the Secrets of some namespaces, which it adds to mgr.
func withSecrets(mgr manager.Manager, config *rest.Config, namespaces []string) (manager.Manager, error) {
	return withOwn(mgr, config, map[client.Object]cache.ByObject{&corev1.Secret{}: {Namespaces: inNamespaces(namespaces)}})
}

// withOwn returns a manager with a separate cache for some kinds, each with its own options, which it adds to mgr.
func withOwn(mgr manager.Manager, config *rest.Config, kinds map[client.Object]cache.ByObject) (manager.Manager, error) {
	s := &split{Cache: mgr.GetCache(), kinds: map[schema.GroupVersionKind]bool{}, scheme: mgr.GetScheme()}
	for o := range kinds {
		gvk, err := apiutil.GVKForObject(o, s.scheme)
		if err != nil {
			return nil, fmt.Errorf("create cache of a controller: %w", err)
		}
		s.kinds[gvk] = true
	}
	var err error
	if s.own, err = cache.New(config, cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: s.scheme, Mapper: mgr.GetRESTMapper(),
		ByObject: kinds, DefaultTransform: cache.TransformStripManagedFields(),
	}); err != nil {
		return nil, fmt.Errorf("create cache of a controller: %w", err)
	}
	m := splitManager{Manager: mgr, cache: s}
	if m.client, err = client.New(config, client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: s.scheme, Mapper: mgr.GetRESTMapper(), Cache: &client.CacheOptions{Reader: s},
	}); err != nil {
		return nil, fmt.Errorf("create client of a controller: %w", err)
	}
	if err := mgr.Add(s); err != nil {
		return nil, fmt.Errorf("add cache of a controller: %w", err)
	}
	return m, nil
}
