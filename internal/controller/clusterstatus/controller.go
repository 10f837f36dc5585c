// Package clusterstatus publishes how the network is, and the operator.
//
// Input: the board on which all loops say how things stand, the live workloads of the network with their pods and why
// those fail, and the nodes. Output: the status of Network/cluster; where that kind is served, of the ClusterOperator
// "network"; the annotation of workloads whose rollout hangs; events and metrics; and the ConfigMap operator-status, with
// what it has to remember and the conditions of controllers that have no object of their own. There is one write for
// each change, and none while nothing changes.
//
// Gather, decide, publish: what is decided is package status alone. This loop must never change the specification of
// anything.
package clusterstatus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// Name is the name of the loop in logs.
const Name = "clusterstatus"

// fieldManager owns the conditions.
const fieldManager = client.FieldOwner(status.FieldManager)

const (
	// collect is how long changes are collected before they are published, so that a rollout of many pods is not
	// a write for each.
	collect = 50 * time.Millisecond
	// patience is how long loops that have not said anything since the start are waited for: before that their
	// silence would be published as good news.
	patience = 30 * time.Second
	// firstRetry and lastRetry bound the time between two attempts to write the status.
	firstRetry, lastRetry = 5 * time.Millisecond, 15 * time.Second
)

// Events tells users what happens to their network, in a word and a sentence.
type Events interface {
	Normal(network *operatorv1.Network, reason, message string)
	Warning(network *operatorv1.Network, reason, message string)
}

// Operands reads an object that the operator has applied.
type Operands interface {
	Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error
}

// Controller is the loop. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Operands reads what the operator has applied, as unstructured objects.
	Operands Operands
	// Pods calls the function for each pod of a namespace that the selector finds, for looking at only.
	Pods func(context.Context, string, labels.Selector, func(*corev1.Pod)) error
	// Nodes returns all nodes, for looking at only.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Live reads from the API server: the events that say why pods fail.
	Live  client.Reader
	Board *report.Board
	// Version is that of the operator.
	Version string
	// Namespace is the operator's own.
	Namespace string
	// Wake is fired when an operand has changed.
	Wake    *trigger.Trigger
	Events  Events
	Metrics *Metrics
	Now     func() time.Time
	Log     *slog.Logger

	started time.Time
	memory  memory
	nodes   nodeList
	causes  causes
	// outdated are the pods of the workload that is read now which have an address that their node no longer has.
	outdated []outdated
	// last are the conditions that were published last, of the object with this UID: the cache may not have them yet.
	last struct {
		uid        types.UID
		conditions []osv1.OperatorCondition
	}
	// operators reads and writes the ClusterOperator; nil as long as its kind has not been served.
	operators atomic.Pointer[client.Client]
	// kindServed starts the loop that watches it.
	kindServed trigger.Trigger
}

// Specs returns the controller as data, and the part that publishes the ClusterOperator.
func (c *Controller) Specs() []loop.Spec {
	network := operatorv1.GroupVersion.WithKind("Network").GroupKind()
	return []loop.Spec{
		{Name: Name, Needs: []schema.GroupKind{network}, Setup: c.setup},
		{Name: ClusterOperatorName, Needs: []schema.GroupKind{network, loop.OpenShift()}, Owns: ownsClusterOperator(), Setup: c.setupClusterOperator},
	}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.started = c.Now()
	c.memory = memory{client: c.Client, namespace: c.Namespace, log: c.Log}
	c.causes = causes{live: c.Live, now: c.Now, known: map[question]answer{}}
	c.nodes.dirty.Store(true)
	c.Wake.Delay = collect
	c.Board.OnChange(c.Wake.Fire)
	// What cannot be written is tried again soon: Degraded must not wait for the back-off to reach it.
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: firstRetry, LastRetry: lastRetry},
		c.Wake.Source(),
		loop.On(mgr, &operatorv1.Network{}, c.Wake.Handler()),
		loop.On(mgr, &corev1.Pod{}, c.Wake.Handler(), predicate.NewPredicateFuncs(ofWorkload)),
		loop.On(mgr, &corev1.Node{}, c.Wake.Handler(), c.nodes.changed()),
		loop.On(mgr, &corev1.ConfigMap{}, c.Wake.Handler(), c.memory.deleted()),
	)
}

// ofWorkload reports whether a pod is one that a controller keeps running. The probes of nodes, which come by the
// thousand, are not.
func ofWorkload(o client.Object) bool {
	return metav1.GetControllerOf(o) != nil
}

// Reconcile publishes the status as it is now.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	network := &operatorv1.Network{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, network)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read network: %w", err)
	}
	if err != nil {
		network = nil
	}
	findings, rollout, ready := c.Board.Snapshot()
	waited := c.Now().Sub(c.started)
	if network != nil && (!ready || len(c.Board.Awaited()) > 0 && waited < patience) {
		return reconcile.Result{RequeueAfter: max(patience-waited, time.Second)}, nil
	}
	if err := c.memory.load(ctx); err != nil {
		return reconcile.Result{}, err
	}
	in, again, err := c.gather(ctx, network, rollout)
	if err != nil {
		return reconcile.Result{}, err
	}
	in.Findings = slices.Concat(findings, in.Findings)
	in.Starting, in.Deadline = waited < patience, deadline(network)
	decision := status.Decide(in)
	c.memory.seen(decision)
	if err := c.publish(ctx, network, in, decision, rollout); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: soonest(decision.Again, again, patience-waited)}, nil
}

// deadline is how long the user lets a rollout stall; 0 if nothing is said.
func deadline(network *operatorv1.Network) time.Duration {
	if network == nil || network.Spec.Rollout == nil || network.Spec.Rollout.ProgressDeadlineSeconds == nil {
		return 0
	}
	return time.Duration(*network.Spec.Rollout.ProgressDeadlineSeconds) * time.Second
}

// soonest returns the shortest of some durations that are not over; 0 if all are.
func soonest(all ...time.Duration) time.Duration {
	var first time.Duration
	for _, d := range all {
		if d > 0 && (first == 0 || d < first) {
			first = d
		}
	}
	return first
}

// publish writes what differs, reports what has happened, and remembers. What cannot be written is no reason not to write
// the rest. The memory comes last: what was not told is reported in the next pass.
func (c *Controller) publish(ctx context.Context, network *operatorv1.Network, in status.Input, d status.Decision, rollout report.Rollout) error {
	var errs []error
	if network != nil {
		errs = append(errs, c.publishNetwork(ctx, network, d, rollout.Generation))
		c.last.uid, c.last.conditions = network.UID, d.Conditions
	}
	errs = append(errs, c.publishClusterOperator(ctx, d, rollout), c.markHung(ctx, rollout, d))
	c.Board.SetHung(d.Hung)
	c.Metrics.set(in, d)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := c.memory.save(ctx, d); err != nil {
		return err
	}
	for _, h := range d.Happened {
		if network == nil {
			break
		}
		c.Log.Info(h.Message, "reason", h.Reason)
		if h.Warning {
			c.Events.Warning(network, h.Reason, h.Message)
		} else {
			c.Events.Normal(network, h.Reason, h.Message)
		}
	}
	return nil
}
