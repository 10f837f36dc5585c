// Package loop wires the operator's controllers in one way: what a controller is called, needs, watches and caches is data, and every
// controller starts and watches by the same code.
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
	// Needs are the kinds that the API server must serve before the controller can start. Kinds of Kubernetes itself are not listed.
	Needs []schema.GroupKind
	// Secrets is true for a controller that reads Secrets.
	Secrets bool
	// Owns are kinds that the controller reads from a cache of its own, with what it selects and keeps of them. All others come
	// from the cache that controllers share.
	Owns map[client.Object]cache.ByObject
	// Setup adds the controller to a manager whose cache has what Owns lists. It is called once, when everything in Needs is served.
	Setup func(manager.Manager) error
}

// OpenShift is the kind by which OpenShift is recognized: no other distribution serves it.
func OpenShift() schema.GroupKind {
	return configv1.GroupVersion.WithKind("ClusterOperator").GroupKind()
}

// Options are what differs between controllers. The zero value is one reconcile at a time, and the back-off of controller-runtime
// from 5 ms to 1,000 s.
type Options struct {
	// Workers is how many requests are reconciled at a time; 0 is 1.
	Workers int
	// FirstRetry and LastRetry bound the time between two reconciles of a request that fails. Both are set, or none.
	FirstRetry, LastRetry time.Duration
}

// Reconcile handles one request.
type Reconcile = func(context.Context, reconcile.Request) (reconcile.Result, error)

// Loop is a controller that was added to a manager.
type Loop struct {
	name string
	c    controller.Controller
}

// New adds a controller to a manager, and has it watch the sources.
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

// Add is New for controllers that watch nothing later.
func Add(mgr manager.Manager, name string, r Reconcile, o Options, sources ...source.Source) error {
	_, err := New(mgr, name, r, o, sources...)
	return err
}

// Forward adds a controller that calls functions when one of the sources has an event, and does nothing else. A nil function is
// left out.
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

// Watch has the controller watch further sources.
func (l *Loop) Watch(sources ...source.Source) error {
	for _, s := range sources {
		if err := l.c.Watch(s); err != nil {
			return fmt.Errorf("watch for %s controller: %w", l.name, err)
		}
	}
	return nil
}

// On is the source of the events of a kind in the manager's cache that all of the predicates let through.
func On(mgr manager.Manager, object client.Object, h handler.EventHandler, only ...predicate.Predicate) source.Source {
	return source.Kind(mgr.GetCache(), object, h, only...)
}

// Once makes every event request the same reconcile, of everything.
func Once() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
}
