package addresspool

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// idleState decides when to read a cluster without managed addresses. Without definitions no pod gets an address, so nothing is read until
// the first one is created.
type idleState struct {
	// defined reports whether a NetworkAttachmentDefinition exists; nil means always.
	defined func(context.Context) (bool, error)
	// waiting is true while the next definition starts a reconcile.
	waiting atomic.Bool
	// since is the time when no definition was first found, zero while one exists. nothingLeft is true if no objects of earlier definitions
	// exist.
	since       time.Time
	nothingLeft bool
}

// delayUntilRead returns the time until the next read: 0 if a reconcile is due, and forever if only a new definition makes one due. The
// objects of earlier definitions are read once after an interval.
func (u *idleState) delayUntilRead(ctx context.Context, now time.Time) (time.Duration, error) {
	if u.defined == nil {
		return 0, nil
	}
	// Set first, so that a definition that is created now is either found below or starts a reconcile.
	u.waiting.Store(true)
	defined, err := u.defined(ctx)
	if err != nil {
		return 0, err
	}
	if defined {
		u.waiting.Store(false)
		u.since, u.nothingLeft = time.Time{}, false
		return 0, nil
	}
	if u.nothingLeft {
		return forever, nil
	}
	if u.since.IsZero() {
		u.since = now
	}
	return max(0, interval-now.Sub(u.since)), nil
}

// forever is a delay that only a new definition ends.
const forever = time.Duration(1<<63 - 1)

// recordRead records what a reconcile has read.
func (u *idleState) recordRead(w *observation) {
	u.nothingLeft = u.defined != nil && !u.since.IsZero() && len(w.pools)+len(w.reservations) == 0
}

// whenWaiting passes created definitions while the controller waits for one.
func (u *idleState) whenWaiting() predicate.Predicate {
	return predicate.And(nodeCreated(), predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return u.waiting.Load() }})
}

// definition returns a NetworkAttachmentDefinition for the shared cache.
func definition() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kindDefinition)
	return u
}

// anyDefinition returns a function that reports whether a cache has any definition.
func anyDefinition(cached client.Reader) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kindDefinition.GroupVersion().WithKind(kindDefinition.Kind + "List"))
		if err := cached.List(ctx, list, client.Limit(1)); err != nil {
			return false, fmt.Errorf("list NetworkAttachmentDefinitions: %w", err)
		}
		return len(list.Items) > 0, nil
	}
}
