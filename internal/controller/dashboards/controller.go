// Package dashboards installs the dashboards of the network in OpenShift's console.
//
// Input: the built-in dashboards, and their ConfigMaps in the cluster. Output: a ConfigMap for each in openshift-config-managed, with the
// label that the console selects. Modified ConfigMaps are restored, and those of removed dashboards deleted.
//
// The controller never modifies a ConfigMap that it does not own, and does nothing if the namespace does not exist. Dashboards of a single
// network are objects of its provider.
package dashboards

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the controller in logs and on the board.
	Name = "dashboards"
	// Namespace is the namespace where the console reads dashboards.
	Namespace = "openshift-config-managed"
	// fieldManager owns the fields of the ConfigMaps.
	fieldManager = client.FieldOwner("cluster-network-operator/dashboards")
	// retryInterval is the interval at which the controller checks whether the namespace exists.
	retryInterval = 5 * time.Minute
)

// cacheOptions returns the kinds that the controller reads from a cache of its own: its ConfigMaps.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
		Namespaces: map[string]cache.Config{Namespace: {LabelSelector: labels.SelectorFromSet(ownedLabels())}},
	}}
}

// Controller installs dashboards. All fields must be set.
type Controller struct {
	// Client reads the ConfigMaps from the controller's cache, and writes.
	Client client.Client
	// Dashboards are the dashboards as JSON, by name.
	Dashboards map[string]string
	Board      *report.Board
	Log        *slog.Logger
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{loop.OpenShift()}, Owns: cacheOptions(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	var begin trigger.Trigger
	begin.Fire()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		begin.Source(),
		loop.On(mgr, &corev1.ConfigMap{}, begin.Handler()),
	)
}

// Reconcile makes the ConfigMaps what they shall be.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var existing corev1.ConfigMapList
	if err := c.Client.List(ctx, &existing, client.InNamespace(Namespace), client.MatchingLabels(ownedLabels())); err != nil {
		return reconcile.Result{}, fmt.Errorf("list dashboards: %w", err)
	}
	changes := compare(existing.Items, desiredConfigMaps(c.Dashboards))
	for _, cm := range changes.Apply {
		err := c.Client.Apply(ctx, cm, fieldManager, client.ForceOwnership)
		if apierrors.IsNotFound(err) { // the namespace
			c.Board.Report(Name)
			return reconcile.Result{RequeueAfter: retryInterval}, nil
		}
		if err != nil {
			return reconcile.Result{}, c.failed(fmt.Errorf("apply dashboard %s: %w", *cm.Name, err))
		}
		c.Log.Info("wrote a dashboard", "configmap", *cm.Name)
	}
	for i := range changes.Delete {
		if err := c.Client.Delete(ctx, &changes.Delete[i]); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, c.failed(fmt.Errorf("delete dashboard %s: %w", changes.Delete[i].Name, err))
		}
		c.Log.Info("deleted a dashboard that no longer exists", "configmap", changes.Delete[i].Name)
	}
	c.Board.Report(Name)
	return reconcile.Result{}, nil
}
