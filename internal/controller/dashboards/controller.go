// Package dashboards brings the dashboards of the network to the console of OpenShift.
//
// Input: the dashboards that the operator is built with, and what is in the cluster of them. Output: a ConfigMap for each in
// openshift-config-managed, with the label by which the console finds it. What someone changes there is changed back,
// and a dashboard that a newer operator no longer has is deleted.
//
// It must never touch a ConfigMap that is not its own, and never hold up anything else: where the namespace is not there,
// there is nothing to do. Dashboards of one network only are objects of its provider.
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
	// Name is the name of the loop in logs and on the board.
	Name = "dashboards"
	// Namespace is where the console looks for dashboards.
	Namespace = "openshift-config-managed"
	// fieldManager owns the fields of the ConfigMaps.
	fieldManager = client.FieldOwner("cluster-network-operator/dashboards")
	// lookAgain is how often the loop looks whether the namespace has come.
	lookAgain = 5 * time.Minute
)

// owns are the kinds that the controller reads from a cache of its own: its ConfigMaps.
func owns() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
		Namespaces: map[string]cache.Config{Namespace: {LabelSelector: labels.SelectorFromSet(own())}},
	}}
}

// Controller is the loop. All fields must be set.
type Controller struct {
	// Client reads the ConfigMaps from the loop's cache, and writes.
	Client client.Client
	// Dashboards are the JSON of each, by name.
	Dashboards map[string]string
	Board      *report.Board
	Log        *slog.Logger
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{loop.OpenShift()}, Owns: owns(), Setup: c.setup}}
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
	var there corev1.ConfigMapList
	if err := c.Client.List(ctx, &there, client.InNamespace(Namespace), client.MatchingLabels(own())); err != nil {
		return reconcile.Result{}, fmt.Errorf("list dashboards: %w", err)
	}
	changes := compare(there.Items, wanted(c.Dashboards))
	for _, cm := range changes.Apply {
		err := c.Client.Apply(ctx, cm, fieldManager, client.ForceOwnership)
		if apierrors.IsNotFound(err) { // the namespace
			c.Board.Report(Name)
			return reconcile.Result{RequeueAfter: lookAgain}, nil
		}
		if err != nil {
			return reconcile.Result{}, c.failed(fmt.Errorf("apply dashboard %s: %w", *cm.Name, err))
		}
		c.Log.Info("dashboard written", "configmap", *cm.Name)
	}
	for i := range changes.Delete {
		if err := c.Client.Delete(ctx, &changes.Delete[i]); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, c.failed(fmt.Errorf("delete dashboard %s: %w", changes.Delete[i].Name, err))
		}
		c.Log.Info("dashboard deleted, since there is none of that name any more", "configmap", changes.Delete[i].Name)
	}
	c.Board.Report(Name)
	return reconcile.Result{}, nil
}
