// Package nodemtu probes the MTU of every node's default routes, and records the results.
//
// Input: the Nodes, the probes (one short-lived host-network pod per node), and the ConfigMap of package hostmtu. Output: that ConfigMap,
// and findings of the component NodeMTU. Nodes are probed when the network's provider computes its MTU from theirs, including nodes that
// join later, to detect one with a smaller MTU.
//
// No other controller waits for this one: consumers read the ConfigMap and watch it.
package nodemtu

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// Name is the name of the controller on the board and in logs.
const Name = "nodemtu"

// fieldManager owns the ConfigMap and the pods.
const fieldManager = client.FieldOwner("cluster-network-operator/nodemtu")

// collectDelay is the time during which events are batched before a reconcile. In a large cluster many probes end at once, and each write
// contains the record of all nodes.
const collectDelay = 50 * time.Millisecond

// Controller probes nodes. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Nodes returns all nodes. They must not be modified.
	Nodes     func(context.Context) ([]*corev1.Node, error)
	Namespace string
	// Image is the operator's image, which the probes run. If it is empty, that is reported as a finding.
	Image string
	// PullSecret returns the name of the probes' image pull secret, empty for none; nil means none.
	PullSecret func(context.Context) (string, error)
	// Needed reports whether a network needs the MTU of its nodes.
	Needed func(*operatorv1.NetworkSpec) bool
	Board  *report.Board
	Now    func() time.Time
	Log    *slog.Logger

	// failures are the failed probes by UID of the node. They are kept in memory only.
	failures map[string]failure
	// lastWritten is the record that replaced version replacedVersion of the ConfigMap. While the cache has that version, it is stale.
	lastWritten     hostmtu.Record
	replacedVersion string
	pending         bool
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{operatorv1.GroupVersion.WithKind("Network").GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.failures = map[string]failure{}
	c.Board.Await(Name)
	wake := &trigger.Trigger{Delay: collectDelay}
	all := wake.Handler()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		wake.Source(),
		loop.On(mgr, &corev1.Node{}, all, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return unreachable(e.ObjectOld) != unreachable(e.ObjectNew) }}),
		loop.On(mgr, &corev1.Pod{}, all, predicate.NewPredicateFuncs(isProbe)),
		loop.On(mgr, &corev1.ConfigMap{}, all, predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == hostmtu.ConfigMap })),
		loop.On(mgr, &operatorv1.Network{}, all, predicate.GenerationChangedPredicate{}),
	)
}

func isProbe(o client.Object) bool { return o.GetLabels()[manifest.LabelComponent] == component }

// Reconcile performs the next step for all nodes.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	needed, err := c.needed(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !needed {
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	v, version, err := c.observe(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	a := step(v)
	c.failures = a.failures
	if c.Image == "" && len(a.start) > 0 {
		a.start = nil
		c.Board.Report(Name, finding(status.Degraded, reasonProbe, false,
			"cannot probe the MTU of nodes: the environment variable NETWORK_OPERATOR_IMAGE of the operator must name the operator's own image"))
		return reconcile.Result{}, nil
	}
	if err := c.execute(ctx, a, version); err != nil {
		return reconcile.Result{}, err
	}
	c.Board.Report(Name, findings(a, v.nodes)...)
	return reconcile.Result{RequeueAfter: a.requeueAfter}, nil
}

// needed reports whether the network needs the MTU of nodes.
func (c *Controller) needed(ctx context.Context) (bool, error) {
	var network operatorv1.Network
	err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network)
	if err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, nil
		}
		return false, fmt.Errorf("read network: %w", err)
	}
	return c.Needed(&network.Spec), nil
}
