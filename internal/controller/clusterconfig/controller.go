// Package clusterconfig copies the configuration of Network.config.openshift.io/cluster to Network.operator.openshift.io/cluster, and
// updates the status of Network.config from the active network.
//
// Input: both objects, the record of the applied configuration, the platform (Infrastructure, FeatureGate) and the nodes. Output: the pools
// and the type of Network.operator, by forced server-side apply, so that Network.config takes precedence; the status of Network.config with
// its condition Synced; events on it; findings of component ClusterConfig.
//
// A configuration that the network would refuse is not copied, so that the user has only one object to correct. The controller writes no
// other field of Network.operator, never deletes that object, and never changes the specification of Network.config.
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

// Name is the name of the controller in logs and on the board.
const Name = "clusterconfig"

// FeaturesName is the name in logs of the controller that watches feature gates.
const FeaturesName = Name + "/features"

// fieldManager owns the fields that the controller writes.
const fieldManager = client.FieldOwner("cluster-network-operator/clusterconfig")

// Controller copies Network.config to Network.operator. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Pipeline checks configurations.
	Pipeline pipeline.Pipeline
	// Facts observes the cluster, including its platform.
	Facts func(context.Context) (facts.Cluster, error)
	// Serves reports whether the API server serves a kind.
	Serves func(schema.GroupKind) bool
	// Namespace is the operator's namespace.
	Namespace string
	Board     *report.Board
	// Wake is fired when the platform has changed.
	Wake   *trigger.Trigger
	Events events.EventRecorder
	Now    func() time.Time
	Log    *slog.Logger

	// reported is the last problem for which an event was recorded.
	reported problem
}

// requiredKinds are the kinds that the API server must serve.
func requiredKinds() []schema.GroupKind {
	return []schema.GroupKind{{Group: configv1.GroupName, Kind: "Network"}, {Group: operatorv1.GroupVersion.Group, Kind: "Network"}}
}

// Specs returns the specifications of the controller and of the watch of feature gates, which decide whether a platform supports dual
// stack.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{
		{Name: Name, Needs: requiredKinds(), Setup: c.setup},
		{Name: FeaturesName, Needs: []schema.GroupKind{kindFeatureGate}, Setup: func(mgr manager.Manager) error {
			return loop.Forward(mgr, FeaturesName, []func(){c.Wake.Fire}, loop.On(mgr, &configv1.FeatureGate{}, loop.Once()))
		}},
	}
}

func (c *Controller) setup(mgr manager.Manager) error {
	mtu := &watchedMTU{board: c.Board, changed: c.Wake.Fire}
	c.Board.OnChange(mtu.check)
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

// Reconcile updates Network.operator and the status of Network.config.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	w, err := c.observe(ctx)
	if err != nil {
		return c.fail(err)
	}
	if w.config == nil {
		c.reported = problem{}
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	t, err := c.syncOperator(ctx, w)
	if err != nil {
		return c.fail(err)
	}
	c.recordProblem(w.config, t)
	c.Board.Report(Name, findings(t)...)
	if err := c.publish(ctx, w, t); err != nil {
		return c.fail(err)
	}
	return reconcile.Result{}, nil
}

// fail reports an error and returns it for a retry. Conflicts are not reported.
func (c *Controller) fail(err error) (reconcile.Result, error) {
	if !isTransient(err) {
		c.Board.Report(Name, status.Finding{Component: component, Effect: status.Degraded, Reason: reasonOf(err),
			Message: fmt.Sprintf("Cannot apply the cluster configuration: %v", err)})
	}
	return reconcile.Result{}, err
}
