package egressrouter

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// publish writes the status of a router if it has changed, and records events for new conditions. requeueAfter 0 means that the next
// reconcile waits for a change.
func (c *Controller) publish(ctx context.Context, r *networkv1.EgressRouter, s state) (requeueAfter time.Duration, err error) {
	now := c.Now()
	available, progressing, degraded, requeueAfter := s.conditions(now)
	before := r.DeepCopy()
	r.Status.ObservedGeneration = r.Generation
	r.Status.Conditions = conditionsOf(available, progressing, degraded, before.Status.Conditions, now)
	if c.same(&before.Status, &r.Status) {
		return requeueAfter, nil
	}
	if err := c.client.Status().Patch(ctx, r, client.MergeFrom(before), fieldManager); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return 0, nil
		}
		return 0, fmt.Errorf("write status of egress router: %w", err)
	}
	c.openShiftCRD = r.Status.ObservedGeneration == 0
	c.announce(r, before.Status.Conditions)
	return requeueAfter, nil
}

// same reports whether two statuses are equal, without fields that the API server drops.
func (c *Controller) same(a, b *networkv1.EgressRouterStatus) bool {
	return (c.openShiftCRD || a.ObservedGeneration == b.ObservedGeneration) && equality.Semantic.DeepEqual(a.Conditions, b.Conditions)
}

// announce records events for significant changes of conditions.
func (c *Controller) announce(r *networkv1.EgressRouter, before []networkv1.EgressRouterStatusCondition) {
	for _, now := range r.Status.Conditions {
		old := find(before, now.Type)
		changed := old == nil || old.Status != now.Status
		switch {
		case now.Type == networkv1.EgressRouterDegraded && now.Status == networkv1.ConditionTrue && (changed || old.Reason != now.Reason || old.Message != now.Message):
			c.event(r, corev1.EventTypeWarning, now.Reason, now.Message)
		case now.Type == networkv1.EgressRouterAvailable && now.Status == networkv1.ConditionTrue && changed:
			c.event(r, corev1.EventTypeNormal, "Available", now.Message)
		case now.Type == networkv1.EgressRouterProgressing && now.Reason == waitForMultus.Reason && (changed || old.Reason != now.Reason):
			c.event(r, corev1.EventTypeNormal, now.Reason, now.Message)
		}
	}
}

// event records an event about a router.
func (c *Controller) event(r *networkv1.EgressRouter, kind, reason, note string) {
	c.Events.Eventf(eventSubject(r), nil, kind, reason, eventaction.Of("Reconcile", note), "%s", phrase.Note(note))
}
