package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// split is the manager's cache with another one for Secrets. A loop starts when all of its cache is filled, and the
// operator may read Secrets in a few namespaces alone: where that right is missing for a while, only those loops
// must wait that read Secrets. One of the others brings the right back.
type split struct {
	cache.Cache
	secrets cache.Cache
}

// NeedLeaderElection is false, as it is for the manager's own cache.
func (s *split) NeedLeaderElection() bool { return false }

// Start fills the cache of Secrets; the other is the manager's business.
func (s *split) Start(ctx context.Context) error { return s.secrets.Start(ctx) }

func (s *split) of(o any) cache.Cache {
	switch o.(type) {
	case *corev1.Secret, *corev1.SecretList:
		return s.secrets
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

// WaitForCacheSync waits for both.
func (s *split) WaitForCacheSync(ctx context.Context) bool {
	return s.Cache.WaitForCacheSync(ctx) && s.secrets.WaitForCacheSync(ctx)
}

// splitManager is a manager whose loops read Secrets.
type splitManager struct {
	manager.Manager
	cache  *split
	client client.Client
}

// GetCache returns the cache that has Secrets.
func (m splitManager) GetCache() cache.Cache { return m.cache }

// GetClient returns a client that reads from that cache.
func (m splitManager) GetClient() client.Client { return m.client }

// withSecrets makes a manager whose loops may read the Secrets of some namespaces, and has its cache filled.
func withSecrets(mgr manager.Manager, config *rest.Config, namespaces []string) (manager.Manager, error) {
	secrets, err := cache.New(config, cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultNamespaces: inNamespaces(namespaces), DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("make cache of secrets: %w", err)
	}
	m := splitManager{Manager: mgr, cache: &split{Cache: mgr.GetCache(), secrets: secrets}}
	m.client, err = client.New(config, client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), Cache: &client.CacheOptions{Reader: m.cache},
	})
	if err != nil {
		return nil, fmt.Errorf("make client for secrets: %w", err)
	}
	if err := mgr.Add(m.cache); err != nil {
		return nil, fmt.Errorf("add cache of secrets: %w", err)
	}
	return m, nil
}
