package operator

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// operands is a cache of the objects that the operator has applied, of whatever kinds those are. A kind is
// watched from when it is first asked for. What does not have the operator's label is not seen.
type operands struct {
	cache.Cache
	mapper meta.RESTMapper
	// changed is called after each change: spec is false if only the status of an object has changed.
	changed func(spec bool)

	mu      sync.Mutex
	watched map[schema.GroupKind]string // the version
	seen    map[manifest.Key]string     // the newest resource version
}

func newOperands(config *rest.Config, options cache.Options, changed func(spec bool)) (*operands, error) {
	options.DefaultLabelSelector = managedByUs()
	options.DefaultTransform = trimManagedFields
	// What is read is only looked at.
	shared := true
	options.DefaultUnsafeDisableDeepCopy = &shared
	c, err := cache.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("make cache of operands: %w", err)
	}
	return &operands{Cache: c, mapper: options.Mapper, changed: changed, watched: map[schema.GroupKind]string{}, seen: map[manifest.Key]string{}}, nil
}

// NeedLeaderElection is false, so that a replica that waits for the lease is ready when it gets it.
func (o *operands) NeedLeaderElection() bool { return false }

// syncTimeout is how long a new watch may take to know all that exists.
const syncTimeout = 20 * time.Second

// syncPoll is how often it is looked whether a new watch knows all that exists.
const syncPoll = 2 * time.Millisecond

// Watch sees to it that kinds are watched, and returns when all that exists of them is known. Kinds that the
// API server does not serve are left out; ask again when it may.
func (o *operands) Watch(ctx context.Context, kinds []schema.GroupVersionKind) error {
	started := map[schema.GroupVersionKind]cache.Informer{}
	for _, gvk := range kinds {
		o.mu.Lock()
		_, watched := o.watched[gvk.GroupKind()]
		o.mu.Unlock()
		if watched || !o.Serves(gvk.GroupKind()) {
			continue
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		informer, err := o.GetInformer(ctx, u, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %s: %w", gvk, err)
		}
		started[gvk] = informer
	}
	for gvk, informer := range started {
		err := wait.PollUntilContextTimeout(ctx, syncPoll, syncTimeout, true, func(context.Context) (bool, error) { return informer.HasSynced(), nil })
		if err != nil {
			return fmt.Errorf("watch %s: %w", gvk, err)
		}
		if err := o.follow(gvk, informer); err != nil {
			return err
		}
	}
	return nil
}

// follow has changes told from now on. Asking for the same informer again is harmless, telling twice is not.
func (o *operands) follow(gvk schema.GroupVersionKind, informer cache.Informer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, watched := o.watched[gvk.GroupKind()]; watched {
		return nil
	}
	if _, err := informer.AddEventHandler(o.handler()); err != nil {
		return fmt.Errorf("watch %s: %w", gvk, err)
	}
	o.watched[gvk.GroupKind()] = gvk.Version
	return nil
}

// Serves reports whether the API server serves a kind.
func (o *operands) Serves(gk schema.GroupKind) bool {
	_, err := o.mapper.RESTMapping(gk)
	return err == nil
}

// Live returns an object as it is, for looking at only.
func (o *operands) Live(key manifest.Key) (*unstructured.Unstructured, bool) {
	o.mu.Lock()
	version, watched := o.watched[key.GroupKind()]
	o.mu.Unlock()
	if !watched {
		return nil, false
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(key.GroupKind().WithVersion(version))
	err := o.Get(context.Background(), client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, u)
	return u, err == nil
}

// Seen returns the newest resource version of an object that the watch has shown, that of its deletion included;
// empty if it has shown none.
func (o *operands) Seen(key manifest.Key) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen[key]
}

// note remembers the version of an object.
func (o *operands) note(object any) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		o.mu.Lock()
		o.seen[manifest.KeyOf(u)] = u.GetResourceVersion()
		o.mu.Unlock()
	}
}

func (o *operands) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(added any, initial bool) {
			o.note(added)
			if !initial {
				o.changed(true)
			}
		},
		UpdateFunc: func(before, after any) {
			o.note(after)
			o.changed(specChanged(before, after))
		},
		DeleteFunc: func(gone any) {
			o.note(gone)
			o.changed(true)
		},
	}
}

// specChanged reports whether more than the status of an object has changed.
func specChanged(before, after any) bool {
	a, ok := before.(*unstructured.Unstructured)
	b, also := after.(*unstructured.Unstructured)
	if !ok || !also || b.GetGeneration() == 0 || a.GetGeneration() != b.GetGeneration() {
		return true
	}
	return !maps.Equal(a.GetLabels(), b.GetLabels()) || !maps.Equal(a.GetAnnotations(), b.GetAnnotations()) ||
		(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil)
}
