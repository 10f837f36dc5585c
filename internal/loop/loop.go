// Package loop adds the operator's controllers to a manager in a uniform way: name, required APIs, watches and caches of a controller are
// data, and every controller starts and watches with the same code.
package loop

import (
	"context"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Spec is one controller of the operator.
type Spec struct {
	// Name is the controller's name in logs, conditions and metrics.
	Name string
	// Needs are the kinds whose APIs must be available before the controller can start, except those of Kubernetes itself.
	Needs []schema.GroupKind
	// Secrets is true for a controller that reads Secrets.
	Secrets bool
	// Owns are kinds that the controller reads from its own cache, with selectors and transforms. All others come from the
	// shared cache.
	Owns map[client.Object]cache.ByObject
	// Setup adds the controller to a manager whose cache includes Owns. It is called once, when all APIs in Needs are available.
	Setup func(manager.Manager) error
}

// OpenShift returns the kind by which OpenShift is detected: no other distribution has it.
func OpenShift() schema.GroupKind {
	return configv1.GroupVersion.WithKind("ClusterOperator").GroupKind()
}

// Options are the options of a controller. The zero value means one concurrent reconcile, and the back-off of controller-runtime
// from 5 ms to 1,000 s.
type Options struct {
	// Workers is the number of concurrent reconciles; 0 means 1.
	Workers int
	// FirstRetry and LastRetry bound the back-off after a failed reconcile. Both are set, or none.
	FirstRetry, LastRetry time.Duration
}

// Reconcile handles one request.
type Reconcile = func(context.Context, reconcile.Request) (reconcile.Result, error)

// Loop is a controller that was added to a manager.
type Loop struct {
	name string
	c    controller.Controller
}

// New adds a controller with its sources to a manager.
func New(mgr manager.Manager, name string, r Reconcile, o Options, sources ...source.Source) (*Loop, error) {
	options := controller.Options{Reconciler: reconcile.Func(r), MaxConcurrentReconciles: o.Workers}
	if o.FirstRetry > 0 {
		options.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](o.FirstRetry, o.LastRetry)
	}
	c, err := controller.New(name, mgr, options)
	if err != nil {
		return nil, fmt.Errorf("create %s controller: %w", name, err)
	}
	l := &Loop{name: name, c: c}
	return l, l.Watch(sources...)
}

// Add is like New for controllers without later watches.
func Add(mgr manager.Manager, name string, r Reconcile, o Options, sources ...source.Source) error {
	_, err := New(mgr, name, r, o, sources...)
	return err
}

// Forward adds a controller that only calls functions when one of the sources has an event. It skips nil functions.
func Forward(mgr manager.Manager, name string, fire []func(), sources ...source.Source) error {
	return Add(mgr, name, func(context.Context, reconcile.Request) (reconcile.Result, error) {
		for _, f := range fire {
			if f != nil {
				f()
			}
		}
		return reconcile.Result{}, nil
	}, Options{}, sources...)
}

// Watch adds further sources.
func (l *Loop) Watch(sources ...source.Source) error {
	for _, s := range sources {
		if err := l.c.Watch(s); err != nil {
			return fmt.Errorf("watch for %s controller: %w", l.name, err)
		}
	}
	return nil
}

// On returns the source of the events of a kind in the manager's cache that all predicates accept.
func On(mgr manager.Manager, object client.Object, h handler.EventHandler, only ...predicate.Predicate) source.Source {
	return From(mgr.GetCache(), object, h, only...)
}

// From is like On for a separate cache.
func From(c cache.Cache, object client.Object, h handler.EventHandler, only ...predicate.Predicate) source.Source {
	return source.Kind(c, object, h, only...)
}

// SeparateCache returns a cache of some kinds, each with its own selector and transform, and adds it to a manager. It is for a controller that reads a second
// selection of a kind: the manager's cache and Spec.Owns have one selection of each kind.
func SeparateCache(mgr manager.Manager, kinds map[client.Object]cache.ByObject) (cache.Cache, error) {
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), ByObject: kinds, DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("create cache: %w", err)
	}
	if err := mgr.Add(c); err != nil {
		return nil, fmt.Errorf("add cache: %w", err)
	}
	return c, nil
}

// Once returns a handler that maps every event to the same request, for controllers that reconcile everything at once.
func Once() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
}
