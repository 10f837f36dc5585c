package operator

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// operands is a cache of the objects that the operator has applied, of all kinds. It watches a kind only in the namespaces in
// which the operator has objects of it, starting with the first request, and keeps the objects with the operator's label. It never
// watches a kind in all namespaces, since a tenant could fill the memory of the operator with labelled objects.
type operands struct {
	mapper meta.RESTMapper
	// make returns a cache of one namespace, or of cluster-scoped objects if the name is empty.
	make func(namespace string) (cache.Cache, error)
	// configMaps are those in another cache.
	configMaps *configMaps
	// changed is called after each change of a wanted object: spec is false if only its status has changed.
	changed func(spec bool)

	mu sync.Mutex
	// caches are the caches by namespace.
	caches map[string]cache.Cache
	// start starts a cache; nil before Start and after its end.
	start   func(cache.Cache)
	watched map[scope]string // by version
	// wanted are the objects of the last Watch.
	wanted map[manifest.Key]bool
	seen   map[manifest.Key]string // the newest resource versions of wanted objects
}

// scope is the scope of one watch: a kind in a namespace.
type scope struct {
	schema.GroupKind
	namespace string
}

func newOperands(config *rest.Config, options cache.Options, elsewhere *configMaps, changed func(spec bool)) *operands {
	options.DefaultLabelSelector = managedByUs()
	options.DefaultTransform = trimManagedFields
	// Objects of the cache are read-only.
	shared := true
	options.DefaultUnsafeDisableDeepCopy = &shared
	of := func(namespace string) (cache.Cache, error) {
		bounded := options
		if namespace != "" {
			bounded.DefaultNamespaces = inNamespaces([]string{namespace})
		}
		c, err := cache.New(config, bounded)
		if err != nil {
			return nil, fmt.Errorf("create cache of operands in namespace %q: %w", namespace, err)
		}
		return c, nil
	}
	return &operands{
		mapper: options.Mapper, make: of, configMaps: elsewhere, changed: changed, caches: map[string]cache.Cache{}, watched: map[scope]string{},
		wanted: map[manifest.Key]bool{}, seen: map[manifest.Key]string{},
	}
}

// NeedLeaderElection returns false, so that the cache of a standby replica is ready when it acquires the lease.
func (o *operands) NeedLeaderElection() bool { return false }

// Start runs the caches until the context ends. It returns the error of a cache that failed.
func (o *operands) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	o.mu.Lock()
	o.start = func(c cache.Cache) { group.Go(func() error { return c.Start(ctx) }) }
	// This goroutine ends only with the context, so that caches can be added to the group before, and none after that: nothing may be
	// added to a group after Wait.
	group.Go(func() error {
		<-ctx.Done()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.start = nil
		return nil
	})
	for _, c := range o.caches {
		o.start(c)
	}
	o.mu.Unlock()
	return group.Wait()
}

// of returns the cache of a namespace.
func (o *operands) of(namespace string) (cache.Cache, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.caches[namespace]; c != nil {
		return c, nil
	}
	c, err := o.make(namespace)
	if err != nil {
		return nil, err
	}
	o.caches[namespace] = c
	if o.start != nil {
		o.start(c)
	}
	return c, nil
}

// Get reads an object, which is read-only, and starts to watch its kind in its namespace.
func (o *operands) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	c, err := o.of(key.Namespace)
	if err != nil {
		return err
	}
	return c.Get(ctx, key, into, options...)
}

// syncTimeout is the timeout of the initial sync of a watch.
const syncTimeout = 20 * time.Second

// syncPoll is the interval at which the initial sync of a watch is checked.
const syncPoll = 2 * time.Millisecond

// Watch watches the kinds of objects in their namespaces, and returns after the initial sync. From then on it reports changes of these
// objects only. It skips kinds whose API is unavailable; call it again when that may have changed.
func (o *operands) Watch(ctx context.Context, objects []network.Operand) error {
	o.want(objects)
	type watch struct {
		scope
		version string
	}
	started := map[watch]cache.Informer{}
	for _, object := range objects {
		w := watch{scope{object.Key.GroupKind(), object.Key.Namespace}, object.Version}
		o.mu.Lock()
		_, watched := o.watched[w.scope]
		o.mu.Unlock()
		if watched || started[w] != nil || !o.Serves(w.GroupKind) {
			continue
		}
		informer, err := o.informer(ctx, w.scope, w.version)
		if err != nil {
			return fmt.Errorf("watch %s: %w", w.WithVersion(w.version), err)
		}
		started[w] = informer
	}
	for w, informer := range started {
		err := wait.PollUntilContextTimeout(ctx, syncPoll, syncTimeout, true, func(context.Context) (bool, error) { return informer.HasSynced(), nil })
		if err != nil {
			return fmt.Errorf("watch %s: %w", w.WithVersion(w.version), err)
		}
		if err := o.handle(w.scope, w.version, informer); err != nil {
			return err
		}
	}
	return nil
}

// informer returns the informer of a scope, which may not be synced yet.
func (o *operands) informer(ctx context.Context, s scope, version string) (cache.Informer, error) {
	if o.configMaps.contains(s) {
		return o.configMaps.informer(ctx)
	}
	c, err := o.of(s.namespace)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(s.WithVersion(version))
	return c.GetInformer(ctx, u, cache.BlockUntilSynced(false))
}

// want replaces the wanted objects and drops the versions of all others.
func (o *operands) want(objects []network.Operand) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted = make(map[manifest.Key]bool, len(objects))
	for _, object := range objects {
		o.wanted[object.Key] = true
	}
	maps.DeleteFunc(o.seen, func(key manifest.Key, _ string) bool { return !o.wanted[key] })
}

// handle adds the event handler to an informer once.
func (o *operands) handle(s scope, version string, informer cache.Informer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, watched := o.watched[s]; watched {
		return nil
	}
	handler := o.handler()
	if o.configMaps.contains(s) {
		handler = o.configMaps.only(s.namespace, handler)
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watch %s: %w", s.WithVersion(version), err)
	}
	o.watched[s] = version
	return nil
}

// Serves reports whether the API server serves a kind.
func (o *operands) Serves(gk schema.GroupKind) bool {
	_, err := o.mapper.RESTMapping(gk)
	return err == nil
}

// Live returns the live object, which is read-only.
func (o *operands) Live(key manifest.Key) (*unstructured.Unstructured, bool) {
	s := scope{key.GroupKind(), key.Namespace}
	o.mu.Lock()
	version, watched := o.watched[s]
	o.mu.Unlock()
	if !watched {
		return nil, false
	}
	if o.configMaps.contains(s) {
		return o.configMaps.live(key)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(key.GroupKind().WithVersion(version))
	err := o.Get(context.Background(), client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, u)
	return u, err == nil
}

// Seen returns the newest resource version that the watch has reported of a wanted object, including that of its deletion; "" if there
// is none.
func (o *operands) Seen(key manifest.Key) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen[key]
}

// note records the version of an object and reports whether it is wanted.
func (o *operands) note(object any) bool {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	var key manifest.Key
	switch object := object.(type) {
	case *unstructured.Unstructured:
		key = manifest.KeyOf(object)
	case *corev1.ConfigMap:
		key = manifest.Key{Kind: "ConfigMap", Namespace: object.Namespace, Name: object.Name}
	default:
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.wanted[key] {
		return false
	}
	o.seen[key] = object.(metav1.Object).GetResourceVersion()
	return true
}

func (o *operands) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(added any, initial bool) {
			if o.note(added) && !initial {
				o.changed(true)
			}
		},
		UpdateFunc: func(before, after any) {
			if o.note(after) {
				o.changed(specChanged(before, after))
			}
		},
		DeleteFunc: func(deleted any) {
			if o.note(deleted) {
				o.changed(true)
			}
		},
	}
}

// specChanged reports whether more than the status of an object has changed.
func specChanged(before, after any) bool {
	a, ok := before.(*unstructured.Unstructured)
	b, isObject := after.(*unstructured.Unstructured)
	if !ok || !isObject || b.GetGeneration() == 0 || a.GetGeneration() != b.GetGeneration() {
		return true
	}
	return !maps.Equal(a.GetLabels(), b.GetLabels()) || !maps.Equal(a.GetAnnotations(), b.GetAnnotations()) ||
		(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil)
}
