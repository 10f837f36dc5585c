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
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

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
	waiting atomic.Bool
}

// prepare makes the state that the controller keeps.
func (c *Controller) prepare() {
	c.api = newTracker(c.Applier)
	c.records = records{cached: c.Client, api: c.api, namespace: c.Namespace, log: c.Log}
	c.reported = map[string]string{}
	c.conflicts = conflicts{}
}
