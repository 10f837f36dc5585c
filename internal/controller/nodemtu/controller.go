// Package nodemtu asks every node for the MTU of its default routes, and keeps the answers.
//
// Input: the Node objects, the pods that it starts on them (one short-lived host-network pod a node), and the
// ConfigMap of package hostmtu. Output: that ConfigMap, and findings of the component NodeMTU. Nodes are asked
// when the network's provider computes its MTU from theirs, also those that join later, to notice one that is
// too small.
//
// It must never hold up another loop: anyone who needs the answer reads the ConfigMap and waits for its events.
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

// Name is the name of the loop, on the board and in logs.
const Name = "nodemtu"

// fieldManager owns the ConfigMap and the pods.
const fieldManager = client.FieldOwner("cluster-network-operator/nodemtu")

// collect is how long events are collected before nodes are looked at: in a large cluster many answer at once, and
// the record of them all is written each time.
const collect = 50 * time.Millisecond

// Controller is the loop. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Nodes returns all nodes, for looking at only.
	Nodes     func(context.Context) ([]*corev1.Node, error)
	Namespace string
	// Image is the operator's own, which the probes run. Empty is reported as a finding.
	Image string
	// PullSecret returns the name of the Secret with which probes pull their images, empty for none; nil is none.
	PullSecret func(context.Context) (string, error)
	// Needed reports whether a network needs to know the MTU of its nodes.
	Needed func(*operatorv1.NetworkSpec) bool
	Board  *report.Board
	Now    func() time.Time
	Log    *slog.Logger

	// failures by UID of the node. They are forgotten with the process, which then asks once more.
	failures map[string]failure
	// written is the record that was written over the ConfigMap of version over: until the cache shows another
	// version, what it shows is too old.
	written hostmtu.Record
	over    string
	pending bool
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{operatorv1.GroupVersion.WithKind("Network").GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.failures = map[string]failure{}
	c.Board.Await(Name)
	wake := &trigger.Trigger{Delay: collect}
	all := wake.Handler()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		wake.Source(),
		loop.On(mgr, &corev1.Node{}, all, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return gone(e.ObjectOld) != gone(e.ObjectNew) }}),
		loop.On(mgr, &corev1.Pod{}, all, predicate.NewPredicateFuncs(isProbe)),
		loop.On(mgr, &corev1.ConfigMap{}, all, predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == hostmtu.ConfigMap })),
		loop.On(mgr, &operatorv1.Network{}, all, predicate.GenerationChangedPredicate{}),
	)
}

func isProbe(o client.Object) bool { return o.GetLabels()[manifest.LabelComponent] == component }

// Reconcile looks at all nodes and does what is to be done next.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	needed, err := c.needed(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !needed {
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	v, version, err := c.gather(ctx)
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
	if err := c.do(ctx, a, version); err != nil {
		return reconcile.Result{}, err
	}
	c.Board.Report(Name, findings(a, v.nodes)...)
	return reconcile.Result{RequeueAfter: a.again}, nil
}

// needed reports whether there is a network to ask for.
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
