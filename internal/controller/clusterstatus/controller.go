// Package clusterstatus publishes the status of the network and of the operator.
//
// Input: the board with the findings of all controllers, the live workloads of the network with their pods and events, and the nodes.
// Output: the status of Network/cluster; where its kind is available, the ClusterOperator "network"; the annotation of workloads whose
// rollout is stalled; events and metrics; and the ConfigMap operator-status, with the persistent state and the conditions of controllers
// without an object. There is one write for each change, and none without a change.
//
// The controller observes, decides and publishes; package status decides. It never changes the specification of an object.
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

// Name is the name of the controller in logs.
const Name = "clusterstatus"

// fieldManager owns the conditions.
const fieldManager = client.FieldOwner(status.FieldManager)

const (
	// collectDelay is the time during which changes are batched before they are published, so that a rollout of many pods causes few
	// writes.
	collectDelay = 50 * time.Millisecond
	// startTimeout is how long the controller waits after the start for controllers without a report: until then, missing findings would
	// count as success.
	startTimeout = 30 * time.Second
	// firstRetry and lastRetry are the first and the maximum delay before a failed write is retried.
	firstRetry, lastRetry = 5 * time.Millisecond, 15 * time.Second
)

// Events records events on the Network, each with a reason and a message.
type Events interface {
	Normal(network *operatorv1.Network, reason, message string)
	Warning(network *operatorv1.Network, reason, message string)
}

// Operands reads an object that the operator has applied.
type Operands interface {
	Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error
}

// Controller publishes the status. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Operands reads applied objects, as unstructured objects.
	Operands Operands
	// Pods calls the function for each selected pod of a namespace. Pods must not be modified.
	Pods func(context.Context, string, labels.Selector, func(*corev1.Pod)) error
	// Nodes returns all nodes. They must not be modified.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Live reads events from the API server.
	Live  client.Reader
	Board *report.Board
	// Version is the version of the operator.
	Version string
	// Namespace is the operator's namespace.
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
	// outdated are the pods with outdated addresses of the workload that is being read.
	outdated []outdated
	// last are the last published conditions of the object with this UID, which the cache may not have yet.
	last struct {
		uid        types.UID
		conditions []osv1.OperatorCondition
	}
	// operators reads and writes the ClusterOperator; nil until its kind is available.
	operators atomic.Pointer[client.Client]
	// kindServed starts the watch of the ClusterOperator.
	kindServed trigger.Trigger
}

// Specs returns the specifications of the controller and of the part that publishes the ClusterOperator.
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
	c.causes = causes{live: c.Live, now: c.Now, known: map[causeKey]cause{}}
	c.nodes.dirty.Store(true)
	c.Wake.Delay = collectDelay
	c.Board.OnChange(c.Wake.Fire)
	// Failed writes are retried soon, so that Degraded is not delayed by the back-off.
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: firstRetry, LastRetry: lastRetry},
		c.Wake.Source(),
		loop.On(mgr, &operatorv1.Network{}, c.Wake.Handler()),
		loop.On(mgr, &corev1.Pod{}, c.Wake.Handler(), predicate.NewPredicateFuncs(ofWorkload)),
		loop.On(mgr, &corev1.Node{}, c.Wake.Handler(), c.nodes.changed()),
		loop.On(mgr, &corev1.ConfigMap{}, c.Wake.Handler(), c.memory.deleted()),
	)
}

// ofWorkload reports whether a pod has a controller. The numerous probe pods of nodes have none.
func ofWorkload(o client.Object) bool {
	return metav1.GetControllerOf(o) != nil
}

// Reconcile publishes the current status.
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
	if network != nil && (!ready || len(c.Board.Awaited()) > 0 && waited < startTimeout) {
		return reconcile.Result{RequeueAfter: max(startTimeout-waited, time.Second)}, nil
	}
	if err := c.memory.load(ctx); err != nil {
		return reconcile.Result{}, err
	}
	in, requeueAfter, err := c.observe(ctx, network, rollout)
	if err != nil {
		return reconcile.Result{}, err
	}
	in.Findings = slices.Concat(findings, in.Findings)
	in.Starting, in.Deadline = waited < startTimeout, deadline(network)
	decision := status.Decide(in)
	c.memory.seen(decision)
	if err := c.publish(ctx, network, in, decision, rollout); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: soonest(decision.Again, requeueAfter, startTimeout-waited)}, nil
}

// deadline returns the user's progress deadline of a rollout; 0 if it is unset.
func deadline(network *operatorv1.Network) time.Duration {
	if network == nil || network.Spec.Rollout == nil || network.Spec.Rollout.ProgressDeadlineSeconds == nil {
		return 0
	}
	return time.Duration(*network.Spec.Rollout.ProgressDeadlineSeconds) * time.Second
}

// soonest returns the shortest positive duration; 0 if there is none.
func soonest(all ...time.Duration) time.Duration {
	var first time.Duration
	for _, d := range all {
		if d > 0 && (first == 0 || d < first) {
			first = d
		}
	}
	return first
}

// publish writes differences, records events and saves the memory. A failed write does not prevent the others. The memory is saved last, so
// that unreported events are reported by the next reconcile.
func (c *Controller) publish(ctx context.Context, network *operatorv1.Network, in status.Input, d status.Decision, rollout report.Rollout) error {
	var errs []error
	if network != nil {
		errs = append(errs, c.publishNetwork(ctx, network, d, rollout.Generation))
		c.last.uid, c.last.conditions = network.UID, d.Conditions
	}
	errs = append(errs, c.publishClusterOperator(ctx, d, rollout), c.markStalled(ctx, rollout, d))
	c.Board.SetStalled(d.Stalled)
	c.Metrics.set(in, d)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := c.memory.save(ctx, d); err != nil {
		return err
	}
	for _, h := range d.Events {
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
