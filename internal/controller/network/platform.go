package network

import (
	"cmp"
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/cluster-network-operator/cno/internal/facts"
)

// PlatformName is the name of the controller that watches the platform, in logs.
const PlatformName = Name + "/platform"

// infrastructureName is the name of the one Infrastructure of a cluster.
const infrastructureName = "cluster"

// KindInfrastructure tells the platform of a cluster.
func KindInfrastructure() schema.GroupKind {
	return schema.GroupKind{Group: configv1.GroupName, Kind: "Infrastructure"}
}

// platform returns the platform of the cluster: that of the Infrastructure where there is one, and else what is known
// since the start.
func (c *Controller) platform(ctx context.Context) (string, error) {
	if !c.Operands.Serves(KindInfrastructure()) {
		return c.Facts.Platform, nil
	}
	var infra configv1.Infrastructure
	if err := c.Client.Get(ctx, client.ObjectKey{Name: infrastructureName}, &infra); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read infrastructure: %w", err)
	}
	return cmp.Or(facts.Platform(&infra), c.Facts.Platform), nil
}

// SetupPlatform starts a reconcile of this controller, and of others, when the platform of the cluster changes. The
// API server must serve Infrastructure.
func (c *Controller) SetupPlatform(mgr manager.Manager, changed ...func()) error {
	fire := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		c.Changed.Fire()
		for _, f := range changed {
			f()
		}
		return reconcile.Result{}, nil
	})
	loop, err := controller.New(PlatformName, mgr, controller.Options{Reconciler: fire})
	if err != nil {
		return fmt.Errorf("create %s controller: %w", PlatformName, err)
	}
	once := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
	if err := loop.Watch(source.Kind(mgr.GetCache(), client.Object(&configv1.Infrastructure{}), once, platformChanged())); err != nil {
		return fmt.Errorf("watch for %s controller: %w", PlatformName, err)
	}
	return nil
}

func platformChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*configv1.Infrastructure)
		after, also := e.ObjectNew.(*configv1.Infrastructure)
		return !ok || !also || facts.Platform(before) != facts.Platform(after) || before.Generation != after.Generation
	}}
}
