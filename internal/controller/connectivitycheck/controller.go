// Package connectivitycheck plans connectivity checks and evaluates their results.
//
// Input: the EndpointSlices of sources, targets and API servers, four Services, the nodes, and on OpenShift its Network and Infrastructure.
// Output: PodNetworkConnectivityChecks, each owned by the node of its source; the condition NetworkDiagnosticsAvailable of that Network;
// findings, which name the unreachable nodes; and metrics.
//
// No rollout and no other controller waits for a check. A node is never reported as unreachable because of a single sample or of a source
// that is isolated itself.
package connectivitycheck

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// Name is the name of the controller in logs.
const Name = "connectivitycheck"

// fieldManager owns the fields that the controller writes.
const fieldManager = client.FieldOwner("cluster-network-operator/connectivitycheck")

// Rate of the controller. Checks are long-lived and not urgent.
const (
	// collectDelay is the time during which changes are batched before a reconcile. A rollout of many pods then causes few reconciles, each
	// of which allocates about 10 MB with five thousand nodes.
	collectDelay = 5 * time.Second
	// batch is the maximum number of checks that a reconcile writes, and batchInterval the time until the next one: at most 20 writes per
	// second, so that ten thousand checks take about eight minutes.
	batch         = 100
	batchInterval = 5 * time.Second
)

// Kind is required; kindConfig and kindInfrastructure are optional.
var (
	Kind               = operatorcontrolplanev1alpha1.GroupVersion.WithKind("PodNetworkConnectivityCheck").GroupKind()
	kindConfig         = configv1.GroupVersion.WithKind("Network").GroupKind()
	kindInfrastructure = configv1.GroupVersion.WithKind("Infrastructure").GroupKind()
)

// Controller reconciles connectivity checks. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache. setup sets it.
	Client client.Client
	// Serves reports whether the API server serves a kind. It returns an error if that is unknown.
	Serves func(schema.GroupKind) (bool, error)
	Board  *report.Board
	// Metrics are set by every reconcile.
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	// Collect overrides collectDelay if it is not 0.
	Collect time.Duration

	// OnConfiguration is called when OpenShift's configuration of diagnostics changes; it may be nil.
	OnConfiguration func()
	// OnUnreachable is called with a sentence for each unreachable node in every reconcile; it may be nil.
	OnUnreachable func(map[string]string)

	// wake starts a reconcile.
	wake trigger.Trigger
	// lastCondition is the condition that was last written to OpenShift's Network, so that a condition that the API server prunes is not
	// written repeatedly.
	lastCondition string
}

// Specs returns the specifications of the controller and of the watch of OpenShift's configuration.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{
		{Name: Name, Needs: []schema.GroupKind{operatorv1.GroupVersion.WithKind("Network").GroupKind(), Kind}, Owns: cacheOptions(), Setup: c.setup},
		{Name: Name + "/configuration", Needs: []schema.GroupKind{kindConfig, kindInfrastructure}, Setup: c.setupConfiguration},
	}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client, c.wake.Delay = mgr.GetClient(), cmp.Or(c.Collect, collectDelay)
	if err := c.Metrics.register(); err != nil {
		return err
	}
	c.wake.Fire() // even if there are no objects
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		c.wake.Source(),
		loop.On(mgr, &discoveryv1.EndpointSlice{}, c.wake.Handler()),
		loop.On(mgr, &corev1.Service{}, c.wake.Handler()),
		loop.On(mgr, &corev1.Node{}, c.wake.Handler(), nodeChanged()),
		loop.On(mgr, &operatorv1.Network{}, c.wake.Handler(), predicate.GenerationChangedPredicate{}),
		loop.On(mgr, &operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck{}, c.wake.Handler(), checkChanged()),
	)
}

// Reconcile updates the checks and reports their results.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	seen, err := c.observe(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	var plan []connectivity.Check
	if seen.enabled {
		plan = connectivity.Plan(seen.topology)
	}
	results := seen.results(plan)
	summary := connectivity.Summarize(results, seen.ready(), c.Now())
	c.Board.Report(Name, findings(summary, seen.down)...)
	if c.OnUnreachable != nil {
		c.OnUnreachable(summary.Unreachable())
	}
	c.Metrics.set(results, summary)
	more, err := c.write(ctx, changes(plan, seen.checks))
	if err := errors.Join(err, c.publish(ctx, seen)); err != nil {
		return reconcile.Result{}, err
	}
	if more {
		return reconcile.Result{RequeueAfter: batchInterval}, nil
	}
	return reconcile.Result{RequeueAfter: summary.RequeueAfter}, nil
}
