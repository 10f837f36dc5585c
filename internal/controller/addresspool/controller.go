// Package addresspool manages the addresses that whereabouts assigns to pods of all nodes.
//
// Input: IPPools, OverlappingRangeIPReservations, NodeSlicePools, the pods, nodes and IPAMClaims that have addresses, and the
// NetworkAttachmentDefinitions that use them. Output: releases of addresses whose pod no longer exists, by its UID, or has ended, or whose
// node was deleted, and of orphaned reservations; slices of divided ranges for nodes; events and metrics.
//
// Lists of pods only yield candidates, never a release. A candidate must stay one for a grace period, so that the node's agent releases it
// first; then its pod is read from the API server, before the version of the pool that was read is written. No clocks are compared: the age
// of a candidate is the time since the controller first saw it.
package addresspool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the controller in logs and events.
	Name = "addresspool"
	// interval is the interval between reconciles.
	interval = 2 * time.Minute
	// grace is how long an address has no pod before it is released. It is longer than the kubelet takes to start or remove a pod, and than
	// an agent takes between a reservation and the write of its pool.
	grace = 5 * time.Minute
	// retryFirst and retryLast are the first and the maximum delay before a failed reconcile is retried.
	retryFirst, retryLast = time.Second, 2 * time.Minute
	// readsPerSecond limits the reads of pods before releases.
	readsPerSecond = 50
)

// Controller is the controller. All exported fields must be set.
type Controller struct {
	// Namespace is the namespace of the pools, that of Multus.
	Namespace string
	// Enabled reports whether multiple networks are enabled. If not, nothing is read or written.
	Enabled func(context.Context) (bool, error)
	// Nodes returns all nodes. They must not be modified.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Wake starts a reconcile.
	Wake    trigger.Trigger
	Metrics *Metrics
	Events  events.EventRecorder
	Now     func() time.Time
	Log     *slog.Logger

	// client reads without a cache, and writes. setup sets it.
	client client.Client
	// since are the times when candidates were first seen.
	since map[candidate]time.Time
	// reported is the last reported state of each definition.
	reported  map[client.ObjectKey]string
	limit     limiter
	idleState idleState
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{
		Name: Name, Needs: []schema.GroupKind{store.KindPool.GroupKind(), store.KindReservation.GroupKind(), store.KindSlicePool.GroupKind(), kindDefinition.GroupKind()},
		Setup: c.setup,
	}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	if err := c.Metrics.register(); err != nil {
		return err
	}
	c.client = uncached{mgr.GetClient(), mgr.GetAPIReader()}
	c.idleState.defined = anyDefinition(mgr.GetCache())
	c.Wake.Fire()
	// New nodes need slices.
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: retryFirst, LastRetry: retryLast},
		c.Wake.Source(), loop.On(mgr, &corev1.Node{}, loop.Once(), nodeCreated()), loop.On(mgr, definition(), loop.Once(), c.idleState.whenWaiting()))
}

// uncached is a client that reads from the API server.
type uncached struct {
	client.Client
	live client.Reader
}

// Get reads from the API server.
func (u uncached) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return u.live.Get(ctx, key, o, options...)
}

// List reads from the API server.
func (u uncached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return u.live.List(ctx, list, options...)
}

// Reconcile compares everything once.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	enabled, err := c.Enabled(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("check whether multiple networks are enabled: %w", err)
	}
	if !enabled {
		c.since = nil
		c.Metrics.forget()
		return reconcile.Result{}, nil
	}
	switch delay, err := c.idleState.delayUntilRead(ctx, c.Now()); {
	case err != nil:
		return reconcile.Result{}, err
	case delay == forever:
		c.since = nil
		c.Metrics.forget()
		return reconcile.Result{}, nil
	case delay > 0:
		return reconcile.Result{RequeueAfter: delay}, nil
	}
	w, err := c.observe(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.idleState.recordRead(w)
	due := c.due(findCandidates(w))
	err = errors.Join(c.release(ctx, w, due), c.assignSlices(ctx, w))
	c.report(w)
	return reconcile.Result{RequeueAfter: interval}, err
}

// due updates the candidates, and returns those that have been candidates for the grace period.
func (c *Controller) due(found []candidate) []candidate {
	now := c.Now()
	since := make(map[candidate]time.Time, len(found))
	var due []candidate
	for _, each := range found {
		first, ok := c.since[each]
		if !ok {
			first = now
		}
		since[each] = first
		if now.Sub(first) >= grace {
			due = append(due, each)
		}
	}
	c.since = since
	return due
}
