// Package network applies the network that Network/cluster specifies.
//
// Input: that object, the nodes, the record of the applied configuration, and all objects that the operator has applied. Output: the
// objects of the network, the record, and findings. Every reconcile computes five values, each from those before it:
//
//	gathered  the records and the facts
//	wanted    the specification, or the applied one if that is refused
//	chosen    the part that may be rolled out now, rendered
//	planned   the missing changes
//	done      the executed and recorded changes
//
// Reconciles are started by events, and by time only for objects that cannot be watched. While the specification is invalid or its change
// refused, the configuration that was applied last stays active.
//
// The controller never removes a network because Network/cluster is missing, never treats a network in use as a fresh one, and changes
// nothing while the record is unreadable.
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
	// Live reads objects from the API server that are not watched.
	Live client.Reader
	// Pods calls the function for each selected pod of a namespace. Pods must not be modified.
	Pods func(context.Context, string, labels.Selector, func(*corev1.Pod)) error
	// Nodes returns all nodes. They must not be modified.
	Nodes    func(context.Context) ([]*corev1.Node, error)
	Operands Operands
	// Applier writes to the API server under FieldManager.
	Applier  apply.Client
	Pipeline pipeline.Pipeline
	// Facts are the facts that do not change while the operator runs.
	Facts facts.Cluster
	// PullSecret returns the name of the image pull secret for workloads, empty for none; nil means none.
	PullSecret func(context.Context) (string, error)
	// Namespace is the operator's namespace.
	Namespace string
	Board     *report.Board
	// Changed is fired when an operand or the available APIs have changed.
	Changed *trigger.Trigger
	// OnPlatform is called when the platform of the cluster changes; it may be nil.
	OnPlatform func()
	// OnApplied is called with the specification of an applied revision; it may be nil.
	OnApplied func(*operatorv1.NetworkSpec)
	Events    Events
	// Metrics may be nil.
	Metrics *Metrics
	// Level is the level of the operator's log.
	Level *slog.LevelVar
	Now   func() time.Time
	Log   *slog.Logger

	api     *tracker
	records records
	// reported are the last events by reason, so that they are not repeated.
	reported map[string]string
	// last is the last reported rollout.
	last report.Rollout
	// conflicts are the objects that other clients modify repeatedly.
	conflicts conflicts
	// servicesCache caches the facts about Services.
	servicesCache servicesCache
	// waiting is true if an action waits for workloads.
	waiting atomic.Bool
}

// prepare initializes the internal state.
func (c *Controller) prepare() {
	c.api = newTracker(c.Applier)
	c.records = records{cached: c.Client, api: c.api, namespace: c.Namespace, log: c.Log}
	c.reported = map[string]string{}
	c.conflicts = conflicts{}
}
