// Package addresspool manages the addresses that whereabouts assigns to pods of all nodes.
//
// Input: IPPools, OverlappingRangeIPReservations, NodeSlicePools, the pods, nodes and IPAMClaims that have addresses, and the
// NetworkAttachmentDefinitions that use them. Output: addresses whose pod no longer exists, by its UID, or has ended, or whose node was deleted, are
// released, as are reservations that an agent has left; each node has its slice of the ranges that are divided; events and metrics.
//
// It must never release an address because of a list of pods: lists only find candidates. Each is watched for a time, so that the node's
// own agent releases it first, and then its pod is read from the API server, before the version of the pool that was read is
// written. It compares no clocks: a candidate's age is how long the controller itself has seen it.
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
	// interval is how often everything is compared.
	interval = 2 * time.Minute
	// grace is how long an address has no pod before it is released. It is longer than kubelet gives a pod to start or to be removed, and
	// than an agent takes between a reservation and the write of its pool.
	grace = 5 * time.Minute
	// retryFirst and retryLast are how soon a failed reconcile is repeated.
	retryFirst, retryLast = time.Second, 2 * time.Minute
	// readsPerSecond bounds the reads of pods before releases.
	readsPerSecond = 50
)

// Controller is the controller. All exported fields must be set.
type Controller struct {
	// Namespace has the pools: that of Multus.
	Namespace string
	// Enabled reports whether the cluster has multiple networks. If not, nothing is read or written.
	Enabled func(context.Context) (bool, error)
	// Nodes returns all nodes, for looking at only.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Wake starts a reconcile.
	Wake    trigger.Trigger
	Metrics *Metrics
	Events  events.EventRecorder
	Now     func() time.Time
	Log     *slog.Logger

	// client reads without a cache, and writes. setup sets it.
	client client.Client
	// since is when a candidate was first seen.
	since map[candidate]time.Time
	// reported is what was last reported of each definition.
	reported map[client.ObjectKey]string
	limit    limiter
	unused   unused
}

// Specs returns the controller as data.
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
	c.unused.defined = anyDefinition(mgr.GetCache())
	c.Wake.Fire()
	// A node that is new waits for its slices.
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: retryFirst, LastRetry: retryLast},
		c.Wake.Source(), loop.On(mgr, &corev1.Node{}, loop.Once(), created()), loop.On(mgr, definition(), loop.Once(), c.unused.first()))
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
		return reconcile.Result{}, fmt.Errorf("read whether there are multiple networks: %w", err)
	}
	if !enabled {
		c.since = nil
		c.Metrics.forget()
		return reconcile.Result{}, nil
	}
	switch rest, err := c.unused.rest(ctx, c.Now()); {
	case err != nil:
		return reconcile.Result{}, err
	case rest == forever:
		c.since = nil
		c.Metrics.forget()
		return reconcile.Result{}, nil
	case rest > 0:
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	w, err := c.gather(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.unused.found(w)
	due := c.due(find(w))
	err = errors.Join(c.release(ctx, w, due), c.divide(ctx, w))
	c.report(w)
	return reconcile.Result{RequeueAfter: interval}, err
}

// due notes candidates, forgets those that are none any more, and returns those that have been some for long enough.
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
