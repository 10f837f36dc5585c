// Package clusterconfig writes what Network.config.openshift.io/cluster says down into Network.operator.openshift.io/cluster,
// and keeps the status of Network.config that of the network in effect.
//
// Input: both objects, the record of what is applied, the platform (Infrastructure, FeatureGate) and the nodes. Output: the
// pools and the type of Network.operator, by server-side apply that is forced, so that Network.config wins; the status of
// Network.config with its condition Synced; events on it; findings of component ClusterConfig.
//
// It must never write down what the network would refuse: the user would then have two objects to mend. It touches no other
// field of Network.operator, never deletes that object, and never changes the specification of Network.config.
package clusterconfig

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// Name is the name of the loop in logs and on the board.
const Name = "clusterconfig"

// FeaturesName is the name of the loop that follows feature gates, in logs.
const FeaturesName = Name + "/features"

// fieldManager owns what this loop writes.
const fieldManager = client.FieldOwner("cluster-network-operator/clusterconfig")

// Controller is the loop. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Pipeline judges what may be written down.
	Pipeline pipeline.Pipeline
	// Facts looks at the cluster, its platform included.
	Facts func(context.Context) (facts.Cluster, error)
	// Serves reports whether the API server serves a kind.
	Serves func(schema.GroupKind) bool
	// Namespace is the operator's own.
	Namespace string
	Board     *report.Board
	// Wake is fired when the platform has changed.
	Wake   *trigger.Trigger
	Events events.EventRecorder
	Now    func() time.Time
	Log    *slog.Logger

	// told is the trouble that users know of already.
	told trouble
}

// needs are the kinds that the API server must serve.
func needs() []schema.GroupKind {
	return []schema.GroupKind{{Group: configv1.GroupName, Kind: "Network"}, {Group: operatorv1.GroupVersion.Group, Kind: "Network"}}
}

// Specs returns the controller as data, and what follows feature gates, which decide whether a platform can have two IP families.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{
		{Name: Name, Needs: needs(), Setup: c.setup},
		{Name: FeaturesName, Needs: []schema.GroupKind{kindFeatureGate}, Setup: func(mgr manager.Manager) error {
			return loop.Forward(mgr, FeaturesName, []func(){c.Wake.Fire}, loop.On(mgr, &configv1.FeatureGate{}, loop.Once()))
		}},
	}
}

func (c *Controller) setup(mgr manager.Manager) error {
	mtu := &watchedMTU{board: c.Board, changed: c.Wake.Fire}
	c.Board.OnChange(mtu.look)
	record := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetNamespace() == c.Namespace && o.GetName() == applied.ConfigMapName
	})
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		c.Wake.Source(),
		loop.On(mgr, &configv1.Network{}, c.Wake.Handler()),
		loop.On(mgr, &operatorv1.Network{}, c.Wake.Handler(),
			predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})),
		loop.On(mgr, &corev1.ConfigMap{}, c.Wake.Handler(), record),
		loop.On(mgr, &corev1.Node{}, c.Wake.Handler(), predicate.Predicate(nodesChanged())),
	)
}

// Reconcile brings Network.operator and the status of Network.config in line.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	w, err := c.gather(ctx)
	if err != nil {
		return c.fail(err)
	}
	if w.config == nil {
		c.told = trouble{}
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	t, err := c.follow(ctx, w)
	if err != nil {
		return c.fail(err)
	}
	c.tell(w.config, t)
	c.Board.Report(Name, findings(t)...)
	if err := c.publish(ctx, w, t); err != nil {
		return c.fail(err)
	}
	return reconcile.Result{}, nil
}

// fail reports what could not be read or written, and has it tried again. A conflict passes with the next try.
func (c *Controller) fail(err error) (reconcile.Result, error) {
	if !passing(err) {
		c.Board.Report(Name, status.Finding{Component: component, Effect: status.Degraded, Reason: reasonOf(err),
			Message: fmt.Sprintf("Error while following the cluster configuration: %v", err)})
	}
	return reconcile.Result{}, err
}
