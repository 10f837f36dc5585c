// Package network makes the network in the cluster what Network/cluster specifies.
//
// Input: that object, what nodes report, the record of what was applied, and all objects that the operator has applied. Output: the
// objects of the network, the record, and findings. Every reconcile makes five values, each from those before it:
//
//	gathered  what is known: the records and the facts
//	wanted    the specification, or the applied one if that is refused
//	chosen    what of it may be rolled out now, rendered
//	planned   what is missing in the cluster
//	done      what was done about it, and recorded
//
// Events start reconciles, a clock does only where something cannot be watched. While the specification is invalid or its change
// refused, the configuration that was applied last stays in effect.
//
// It must never remove a network because Network/cluster is gone, mistake a network that is in use for a fresh one, or change anything
// while the record cannot be read.
package network

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/logging"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// Name is the name of the controller, in conditions and in logs.
const Name = "network"

// FieldManager owns the fields of the network's objects. It is the one that OpenShift's operator uses.
const FieldManager = "cluster-network-operator/operconfig"

// firstRetry and lastRetry bound the time between two reconciles while something fails.
const firstRetry, lastRetry = 500 * time.Millisecond, 30 * time.Second

// Operand is an object that is wanted or was applied, and the version in which it is read.
type Operand struct {
	Key     manifest.Key
	Version string
}

// Operands are the objects that the operator has applied, as a cache knows them.
type Operands interface {
	// Watch watches objects instead of those that it was called with before, and returns when what exists of their kinds in their
	// namespaces is known.
	Watch(ctx context.Context, objects []Operand) error
	// Serves reports whether the API server serves a kind.
	Serves(schema.GroupKind) bool
	// Live returns an object, for looking at only.
	Live(manifest.Key) (*unstructured.Unstructured, bool)
	// Seen returns the newest resource version of an object that is known, that of its deletion included.
	Seen(manifest.Key) string
}

// Events are the events on Network/cluster, each with a reason and a message.
type Events interface {
	Normal(network *operatorv1.Network, reason, message string)
	Warning(network *operatorv1.Network, reason, message string)
}

// Controller is the controller. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Live reads from the API server itself, what is not watched.
	Live client.Reader
	// Pods calls the function for each pod of a namespace that the selector finds, for looking at only.
	Pods func(context.Context, string, labels.Selector, func(*corev1.Pod)) error
	// Nodes returns all nodes, for looking at only.
	Nodes    func(context.Context) ([]*corev1.Node, error)
	Operands Operands
	// Applier writes to the API server under FieldManager.
	Applier  apply.Client
	Pipeline pipeline.Pipeline
	// Facts are those that do not change while the operator runs.
	Facts facts.Cluster
	// PullSecret returns the name of the Secret with which workloads pull their images, empty for none; nil is none.
	PullSecret func(context.Context) (string, error)
	// Namespace is the operator's own.
	Namespace string
	Board     *report.Board
	// Changed is fired when an operand or what the API server serves has changed.
	Changed *trigger.Trigger
	// OnPlatform is called when the platform of the cluster changes; nil is nothing.
	OnPlatform func()
	// OnApplied is called with the specification of a revision that was applied; nil is nothing.
	OnApplied func(*operatorv1.NetworkSpec)
	Events    Events
	// Metrics may be nil.
	Metrics *Metrics
	// Level is that of the operator's log.
	Level *slog.LevelVar
	Now   func() time.Time
	Log   *slog.Logger

	api     *tracker
	records records
	// reported is the last event of each reason, so that none is repeated in every reconcile.
	reported map[string]string
	// last is the rollout that was reported last.
	last report.Rollout
	// conflicts are the objects that other clients change repeatedly.
	conflicts conflicts
	// served is what was read of Services.
	served servedCache
	// waiting is true if something is to be done once workloads are ready.
	waiting waiting
}

// Specs returns the controller as data, and what starts it, and others, when the platform of the cluster changes.
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

// prepare makes the state that the controller keeps.
func (c *Controller) prepare() {
	c.api = newTracker(c.Applier)
	c.records = records{cached: c.Client, api: c.api, namespace: c.Namespace, log: c.Log}
	c.reported = map[string]string{}
	c.conflicts = conflicts{}
}

// Reconcile looks at everything and does what is missing.
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
		return reconcile.Result{}, err // a reconcile that was cut short says nothing about the network
	}
	findings := r.findings(c, err)
	c.emit(&network, findings, r.kept)
	c.last = r.rollout(c.last, c.Namespace)
	c.Board.Report(Name, findings...)
	c.Board.SetRollout(c.last)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.requeueAfter()}, nil
}

// reconciled is what one reconcile has come to. Values that it did not come to are zero.
type reconciled struct {
	gathered
	wanted
	chosen
	planned
	done
	// applyErr is the error of making and executing the plan.
	applyErr error
}

// run makes the five values. The error requests another reconcile; what users should know of it is in the findings.
func (c *Controller) run(ctx context.Context, network *operatorv1.Network) (r reconciled, err error) {
	begun := c.Now()
	if r.gathered, err = c.gather(ctx, network); err != nil || r.lost() {
		return r, err
	}
	begun = c.Metrics.phase(phaseRecords, begun, c.Now())
	r.wanted = c.want(ctx, &r.gathered)
	r.chosen, err = c.choose(ctx, &r.gathered, &r.wanted)
	begun = c.Metrics.phase(phaseRender, begun, c.Now())
	if err != nil || !r.rendered || !r.managed {
		return r, err
	}
	if r.planned, r.applyErr = c.plan(ctx, &r.gathered, &r.chosen); r.applyErr == nil {
		r.done, r.applyErr = c.do(ctx, &r.gathered, &r.chosen, &r.planned)
	}
	c.Metrics.phase(phaseRollOut, begun, c.Now())
	if r.applyErr != nil {
		return r, r.applyErr
	}
	return r, r.retryable()
}

// deleted notes that there is no Network. What was applied stays, and is no longer managed.
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
