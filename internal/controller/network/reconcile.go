package network

import (
	"context"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/logging"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
)

// firstRetry and lastRetry are the first and the maximum delay before a failed reconcile is retried.
const firstRetry, lastRetry = 500 * time.Millisecond, 30 * time.Second

// Specs returns the specifications of the controller and of the watch of the platform.
func (c *Controller) Specs() []loop.Spec {
	network := operatorv1.GroupVersion.WithKind("Network").GroupKind()
	return []loop.Spec{
		{Name: Name, Needs: []schema.GroupKind{network}, Setup: c.setup},
		{Name: PlatformName, Needs: []schema.GroupKind{network, kindInfrastructure()}, Setup: c.setupPlatform},
	}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.prepare()
	all := c.Changed.Handler()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: firstRetry, LastRetry: lastRetry},
		c.Changed.Source(),
		loop.On(mgr, &operatorv1.Network{}, all, networkChanged()),
		loop.On(mgr, &corev1.ConfigMap{}, all, c.configMapChanged()),
		loop.On(mgr, &corev1.Node{}, all, nodeChanged()),
	)
}

func (c *Controller) setupPlatform(mgr manager.Manager) error {
	return loop.Forward(mgr, PlatformName, []func(){c.Changed.Fire, c.OnPlatform}, loop.On(mgr, &configv1.Infrastructure{}, loop.Once(), platformChanged()))
}

// Reconcile applies Network/cluster and reports the result.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var network operatorv1.Network
	if err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("read network: %w", err)
		}
		c.deleted()
		return reconcile.Result{}, nil
	}
	c.Level.Set(logging.Level(network.Spec.OperatorLogLevel))
	r, err := c.run(ctx, &network)
	if ctx.Err() != nil {
		return reconcile.Result{}, err // a canceled reconcile has no result
	}
	findings := r.findings(c, err)
	c.recordEvents(&network, findings, r.kept)
	c.last = r.rollout(c.last, c.Namespace)
	c.Board.Report(Name, findings...)
	c.Board.SetRollout(c.last)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.requeueAfter()}, nil
}

// deleted reports that Network/cluster does not exist. Applied objects stay and are no longer managed.
func (c *Controller) deleted() {
	c.Board.Report(Name)
	if c.last.Generation == 0 {
		return
	}
	c.last = report.Rollout{}
	c.Log.Warn("Network/cluster was deleted; the network keeps running but is no longer managed until Network/cluster is recreated")
	gone := &operatorv1.Network{}
	gone.Name = operatorv1.NetworkName
	c.Events.Warning(gone, "NetworkDeleted", "the network keeps running but is no longer managed until Network/cluster is recreated")
}
