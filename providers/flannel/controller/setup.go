package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// Name is the name of the loop, on the board and in logs.
const Name = "flannel"

// Setup adds the loop to a manager.
func (c *Controller) Setup(mgr manager.Manager) error {
	loop, err := controller.New(Name, mgr, controller.Options{Reconciler: c})
	if err != nil {
		return fmt.Errorf("create %s controller: %w", Name, err)
	}
	if err := loop.Watch(c.trigger.Source()); err != nil {
		return fmt.Errorf("watch etcd for %s controller: %w", Name, err)
	}
	for object, wanted := range map[client.Object]predicate.Predicate{
		&corev1.Node{}:      predicate.Funcs{UpdateFunc: nodeChanged},
		&corev1.ConfigMap{}: predicate.NewPredicateFuncs(c.concerns),
		&corev1.Secret{}:    predicate.NewPredicateFuncs(c.concerns),
	} {
		if err := loop.Watch(source.Kind(mgr.GetCache(), object, everything(), wanted)); err != nil {
			return fmt.Errorf("watch %T for %s controller: %w", object, Name, err)
		}
	}
	if err := c.watchRequests(mgr, loop); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		c.Close()
		return nil
	}))
}

// everything makes every event ask for the same pass.
func everything() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
}

// concerns reports whether a ConfigMap or Secret is in a namespace that the loop reads.
func (c *Controller) concerns(o client.Object) bool {
	return o.GetNamespace() == record.Namespace || o.GetNamespace() == c.deps.Namespace && o.GetName() != status.ConfigMapName
}

// nodeChanged lets through what the loop uses: a kubelet's heartbeat is not.
func nodeChanged(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*corev1.Node)
	after, also := e.ObjectNew.(*corev1.Node)
	return !ok || !also || asNode(before) != asNode(after) || isControlPlane(before) != isControlPlane(after) ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
}
