package clusterconfig

import (
	"context"
	"errors"
	"fmt"
	"sync"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/report"
)

// syncOperator checks the configuration and applies it to Network.operator if needed. It returns the problem of the configuration; zero if
// there is none.
func (c *Controller) syncOperator(ctx context.Context, w *input) (problem, error) {
	if w.corrupt != nil {
		return recordUnreadable(w.corrupt), nil
	}
	v, err := decide(ctx, c.Pipeline, w)
	if err != nil {
		return problem{}, fmt.Errorf("check the cluster configuration: %w", err)
	}
	if !v.write {
		return problemOf(v), nil
	}
	fields := v.desired.differences(&operatorv1.NetworkSpec{})
	if w.operator != nil {
		fields = v.desired.differences(&w.operator.Spec)
	}
	err = c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(v.desired.object()), fieldManager, client.ForceOwnership)
	switch {
	case apierrors.IsInvalid(err):
		return rejectedByServer(err), nil
	case err != nil:
		return problem{}, fmt.Errorf("apply network: %w", err)
	}
	c.Log.Info("applied Network.config/cluster to Network.operator/cluster", "fields", fields)
	c.event(w.config, corev1.EventTypeNormal, eventFollowed, followedMessage(fields))
	return problem{}, nil
}

// recordProblem records an event and a log line for a new problem.
func (c *Controller) recordProblem(config *configv1.Network, t problem) {
	if t != c.reported && t != (problem{}) {
		c.Log.Warn("the cluster configuration is not applied", "reason", t.reason, "message", t.message)
		c.event(config, corev1.EventTypeWarning, t.reason, t.message)
	}
	c.reported = t
}

// event records an event about Network.config.
func (c *Controller) event(config *configv1.Network, kind, reason, text string) {
	c.Events.Eventf(config, nil, kind, reason, eventaction.Of("Reconcile", text), "%s", phrase.Note(text))
}

// publish writes the status of Network.config if it differs. The kind has no status subresource.
func (c *Controller) publish(ctx context.Context, w *input, t problem) error {
	spec := w.record.Applied.Spec()
	desired := statusFor(w.config.Status, appliedNetwork{spec: spec, mtu: w.mtu, own: c.installs(spec)})
	synced := condition(t)
	synced.LastTransitionTime = metav1.Time{Time: c.Now()}
	meta.SetStatusCondition(&desired.Conditions, synced)
	if equality.Semantic.DeepEqual(w.config.Status, desired) {
		return nil
	}
	changed := w.config.DeepCopy()
	changed.Status = desired
	// The conditions are written as a list, which has conditions of other owners.
	err := c.Client.Patch(ctx, changed, client.MergeFromWithOptions(w.config, client.MergeFromWithOptimisticLock{}), fieldManager)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write status of network configuration: %w", err)
	}
	return nil
}

// installs reports whether this operator installs the network of a specification.
func (c *Controller) installs(spec *operatorv1.NetworkSpec) bool {
	if spec == nil {
		return false
	}
	for _, p := range c.Pipeline.Registry.Providers {
		if t := p.Traits(); t.Type == spec.DefaultNetwork.Type {
			return t.NotBuilt == ""
		}
	}
	return false
}

// isTransient reports whether an error is a conflict or due to the operator's shutdown.
func isTransient(err error) bool {
	return apierrors.IsConflict(err) || errors.Is(err, context.Canceled)
}

// watchedMTU calls changed when the MTU of the active network changes.
type watchedMTU struct {
	board   *report.Board
	changed func()

	mu   sync.Mutex
	last int
}

func (m *watchedMTU) check() {
	_, rollout, _ := m.board.Snapshot()
	m.mu.Lock()
	same := m.last == rollout.MTU
	m.last = rollout.MTU
	m.mu.Unlock()
	if !same {
		m.changed()
	}
}

// nodesChanged passes created and deleted nodes and changes of addresses, because no pool may contain a node's address.
func nodesChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*corev1.Node)
		after, okAfter := e.ObjectNew.(*corev1.Node)
		return !okBefore || !okAfter || !equality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses)
	}}
}
