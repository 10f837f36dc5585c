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

// unused decides when a cluster in which no address is managed is looked at again: without definitions no pod gets an address, so that nothing
// is read until the first one is created.
type unused struct {
	// defined reports whether there is any NetworkAttachmentDefinition; nil is always.
	defined func(context.Context) (bool, error)
	// waiting is true while the next definition starts a reconcile. With definitions, their number does not matter: there is one reconcile in each interval.
	waiting atomic.Bool
	// since is when a reconcile first found no definition, zero while there is one, and nothingLeft that none of what they left is there either.
	since       time.Time
	nothingLeft bool
}

// rest returns how long nothing has to be read, 0 if a reconcile is due, and forever if only a definition makes one due. What earlier
// definitions left is read once, an interval later: it has time.
func (u *unused) rest(ctx context.Context, now time.Time) (time.Duration, error) {
	if u.defined == nil {
		return 0, nil
	}
	// Set first: a definition that comes now is either found below or starts a reconcile.
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

// forever is a rest that only a definition ends.
const forever = time.Duration(1<<63 - 1)

// found notes what a reconcile has read.
func (u *unused) found(w *world) {
	u.nothingLeft = u.defined != nil && !u.since.IsZero() && len(w.pools)+len(w.reservations) == 0
}

// first lets a definition that is created through while the controller waits for it.
func (u *unused) first() predicate.Predicate {
	return predicate.And(created(), predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return u.waiting.Load() }})
}

// definition is a NetworkAttachmentDefinition, as the cache that controllers share has them: whole, for another controller.
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
