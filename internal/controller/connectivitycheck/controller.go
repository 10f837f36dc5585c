// Package connectivitycheck decides what sources check, and what follows from what they find.
//
// Input: the EndpointSlices of sources, targets and API servers, four Services, the nodes, and where OpenShift is, its
// Network and Infrastructure. Output: PodNetworkConnectivityChecks, each owned by the node of its source; the condition
// NetworkDiagnosticsAvailable of that Network; findings, which name the nodes that cannot be reached; and metrics.
//
// It must never hold anything up: no rollout and no other loop waits for a check. It must never call a node unreachable
// on the word of a single sample, or of a source that may be to blame itself.
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

// Name is the name of the loop in logs.
const Name = "connectivitycheck"

// fieldManager owns the fields of what the loop writes.
const fieldManager = client.FieldOwner("cluster-network-operator/connectivitycheck")

// Pace of the loop: checks are for years, and there is no hurry.
const (
	// collect is how long changes are collected before they are looked at: a rollout of many pods is not a pass for each,
	// and a pass over five thousand nodes makes ten megabytes of what is thrown away at its end.
	collect = 5 * time.Second
	// batch is how many checks are written in a pass, and breather how long after it the next one begins: twenty a second
	// at most, of which an API server takes no notice. Ten thousand take eight minutes, once.
	batch    = 100
	breather = 5 * time.Second
)

// The kinds that the controller reads where they are served. Kind is the one without which it does not start.
var (
	Kind               = operatorcontrolplanev1alpha1.GroupVersion.WithKind("PodNetworkConnectivityCheck").GroupKind()
	kindConfig         = configv1.GroupVersion.WithKind("Network").GroupKind()
	kindInfrastructure = configv1.GroupVersion.WithKind("Infrastructure").GroupKind()
)

// Controller is the loop. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache, with what Owns selects. Setup sets it.
	Client client.Client
	// Serves reports whether the API server serves a kind. Not knowing is an error.
	Serves func(schema.GroupKind) (bool, error)
	Board  *report.Board
	// Metrics are set by every pass.
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	// Collect takes the place of how long changes are collected, if it is not 0.
	Collect time.Duration

	// OnConfiguration is called when OpenShift's configuration of diagnostics changes; nil is nothing.
	OnConfiguration func()

	// wake starts a reconcile.
	wake trigger.Trigger
	// said is what was written last to the Network of OpenShift, so that what the API server prunes is not written again
	// and again.
	said string
}

// Specs returns the controller as data, and what starts it when OpenShift's configuration of diagnostics or the addresses of its API
// servers change.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{
		{Name: Name, Needs: []schema.GroupKind{operatorv1.GroupVersion.WithKind("Network").GroupKind(), Kind}, Owns: owns(), Setup: c.setup},
		{Name: Name + "/configuration", Needs: []schema.GroupKind{kindConfig, kindInfrastructure}, Setup: c.setupConfiguration},
	}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client, c.wake.Delay = mgr.GetClient(), cmp.Or(c.Collect, collect)
	if err := c.Metrics.register(); err != nil {
		return err
	}
	c.wake.Fire() // also where there is nothing yet
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		c.wake.Source(),
		loop.On(mgr, &discoveryv1.EndpointSlice{}, c.wake.Handler()),
		loop.On(mgr, &corev1.Service{}, c.wake.Handler()),
		loop.On(mgr, &corev1.Node{}, c.wake.Handler(), nodeChanged()),
		loop.On(mgr, &operatorv1.Network{}, c.wake.Handler(), predicate.GenerationChangedPredicate{}),
		loop.On(mgr, &operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck{}, c.wake.Handler(), checkChanged()),
	)
}

// Reconcile brings the checks in line with the cluster, and says what they have found.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	seen, err := c.gather(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	var plan []connectivity.Check
	if seen.enabled {
		plan = connectivity.Plan(seen.world)
	}
	results := seen.results(plan)
	verdict := connectivity.Judge(results, seen.ready(), c.Now())
	c.Board.Report(Name, findings(verdict, seen.down)...)
	c.Metrics.set(results, verdict)
	more, err := c.write(ctx, changes(plan, seen.checks))
	if err := errors.Join(err, c.publish(ctx, seen)); err != nil {
		return reconcile.Result{}, err
	}
	if more {
		return reconcile.Result{RequeueAfter: breather}, nil
	}
	return reconcile.Result{RequeueAfter: verdict.Again}, nil
}
