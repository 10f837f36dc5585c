// Package clusterstatus publishes how the network is.
//
// Input: the board on which all loops say how things stand, the live workloads of the network with their pods,
// and which nodes have a kubelet that answers. Output: the status of Network/cluster and, where that kind is
// served, of the ClusterOperator "network": one write for each change, none while nothing changes.
//
// Gather, decide, publish: what is decided is package status alone. This loop must never change anything but
// these two status objects.
package clusterstatus

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// Name is the name of the loop in logs.
const Name = "clusterstatus"

// fieldManager owns the conditions. It is the one that OpenShift's operator uses.
const fieldManager = client.FieldOwner("cluster-network-operator/status-manager")

const (
	// collect is how long changes are collected before they are published, so that a rollout of many pods is not
	// a write for each.
	collect = 50 * time.Millisecond
	// patience is how long loops that have not said anything since the start are waited for: before that their
	// silence would be published as good news.
	patience = 30 * time.Second
)

// Controller is the loop. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Operands reads what the operator has applied, as unstructured objects.
	Operands client.Reader
	Board    *report.Board
	// Version is that of the operator.
	Version string
	// Namespace is the operator's own.
	Namespace string
	// Wake is fired when an operand has changed.
	Wake *trigger.Trigger
	// HasClusterOperator reports whether the API server serves ClusterOperator.
	HasClusterOperator func() bool
	Now                func() time.Time
	Log                *slog.Logger

	started   time.Time
	downSince map[status.Workload]time.Time
}

// Setup adds the loop to a manager.
func (c *Controller) Setup(mgr manager.Manager) error {
	c.started = c.Now()
	c.Wake.Delay = collect
	c.Board.OnChange(c.Wake.Fire)
	loop, err := controller.New(Name, mgr, controller.Options{Reconciler: reconcile.Func(c.Reconcile)})
	if err != nil {
		return fmt.Errorf("make %s controller: %w", Name, err)
	}
	sources := []source.Source{
		c.Wake.Source(),
		source.Kind(mgr.GetCache(), client.Object(&operatorv1.Network{}), c.Wake.Handler()),
		source.Kind(mgr.GetCache(), client.Object(&corev1.Pod{}), c.Wake.Handler(), predicate.NewPredicateFuncs(ofWorkload)),
		source.Kind(mgr.GetCache(), client.Object(&corev1.Node{}), c.Wake.Handler(), predicate.Predicate(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false },
			UpdateFunc: func(e event.UpdateEvent) bool { return gone(e.ObjectOld) != gone(e.ObjectNew) },
		})),
	}
	for _, s := range sources {
		if err := loop.Watch(s); err != nil {
			return fmt.Errorf("watch for %s controller: %w", Name, err)
		}
	}
	return nil
}

// ofWorkload reports whether a pod is one that a controller keeps running. The probes of nodes, which come by the
// thousand, are not.
func ofWorkload(o client.Object) bool {
	return metav1.GetControllerOf(o) != nil
}

// Reconcile publishes the status as it is now.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var network operatorv1.Network
	if err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	findings, rollout, ready := c.Board.Snapshot()
	if waited := c.Now().Sub(c.started); !ready || len(c.Board.Awaited()) > 0 && waited < patience {
		return reconcile.Result{RequeueAfter: max(patience-waited, time.Second)}, nil
	}
	live, err := c.live(ctx, rollout)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := status.Decide(status.Input{
		Now: c.Now(), Version: c.Version, Previous: network.Status.Conditions, Findings: findings,
		Components: rollout.Components, Wanted: rollout.Wanted, Live: live, Applied: rollout.Applied, DownSince: c.downSince,
	})
	c.downSince = decision.DownSince
	if err := c.publishNetwork(ctx, &network, decision, rollout.Generation); err != nil {
		return reconcile.Result{}, err
	}
	if c.HasClusterOperator() {
		if err := c.publishClusterOperator(ctx, decision, rollout); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: decision.Again}, nil
}
