package egressrouter

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

// longestNote is how long the API server lets the text of an event be.
const longestNote = 1024

// publish writes the status of a router if it has changed, and makes events of what is new. again is when to look again; 0 is when
// something changes.
func (c *Controller) publish(ctx context.Context, r *networkv1.EgressRouter, s state) (again time.Duration, err error) {
	now := c.Now()
	available, progressing, degraded, again := s.conditions(now)
	before := r.DeepCopy()
	r.Status.ObservedGeneration = r.Generation
	r.Status.Conditions = conditionsOf(available, progressing, degraded, before.Status.Conditions, now)
	if c.same(&before.Status, &r.Status) {
		return again, nil
	}
	if err := c.client.Status().Patch(ctx, r, client.MergeFrom(before), fieldManager); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return 0, nil
		}
		return 0, fmt.Errorf("write status of egress router: %w", err)
	}
	c.oldDefinition = r.Status.ObservedGeneration == 0
	c.announce(r, before.Status.Conditions)
	return again, nil
}

// same reports whether two statuses say the same, as far as the API server keeps what is said.
func (c *Controller) same(a, b *networkv1.EgressRouterStatus) bool {
	return (c.oldDefinition || a.ObservedGeneration == b.ObservedGeneration) && equality.Semantic.DeepEqual(a.Conditions, b.Conditions)
}

// announce makes events of conditions that a person wants to hear of.
func (c *Controller) announce(r *networkv1.EgressRouter, before []networkv1.EgressRouterStatusCondition) {
	for _, now := range r.Status.Conditions {
		old := find(before, now.Type)
		turned := old == nil || old.Status != now.Status
		switch {
		case now.Type == networkv1.EgressRouterDegraded && now.Status == networkv1.ConditionTrue && (turned || old.Reason != now.Reason || old.Message != now.Message):
			c.event(r, corev1.EventTypeWarning, now.Reason, now.Message)
		case now.Type == networkv1.EgressRouterAvailable && now.Status == networkv1.ConditionTrue && turned:
			c.event(r, corev1.EventTypeNormal, "Available", now.Message)
		case now.Type == networkv1.EgressRouterProgressing && now.Reason == waitForMultus.Reason && (turned || old.Reason != now.Reason):
			c.event(r, corev1.EventTypeNormal, now.Reason, now.Message)
		}
	}
}

// event tells the author of a router something.
func (c *Controller) event(r *networkv1.EgressRouter, kind, reason, note string) {
	if len(note) > longestNote {
		note = strings.ToValidUTF8(note[:longestNote-3], "") + "..."
	}
	c.Events.Eventf(about(r), nil, kind, reason, "Reconcile", "%s", note)
}
