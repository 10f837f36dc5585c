package controller

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// view has all objects of a kind: those from the watch, and those that this instance has written and the watch has not delivered yet. Each decision therefore
// takes all earlier decisions into account.
type view[T client.Object] struct {
	// relevant reports whether an update is relevant to a controller; nil if every update is.
	relevant func(before, now T) bool
	// wake are the triggers to fire after a change.
	wake []agent.Trigger

	mu      sync.Mutex
	watched map[client.ObjectKey]T
	// written are objects that are newer than those in watched.
	written map[client.ObjectKey]T
	// deleted are the UIDs of deleted objects that are still in watched.
	deleted map[types.UID]bool
}

func newView[T client.Object](relevant func(before, now T) bool, wake ...agent.Trigger) *view[T] {
	return &view[T]{relevant: relevant, wake: wake, watched: map[client.ObjectKey]T{}, written: map[client.ObjectKey]T{}, deleted: map[types.UID]bool{}}
}

// newer reports whether a is at least as new as b, an object of the same kind.
func newer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order >= 0
}

// OnAdd receives an object from the watch.
func (v *view[T]) OnAdd(o any, _ bool) { v.set(o) }

// OnUpdate receives an object from the watch.
func (v *view[T]) OnUpdate(_, o any) { v.set(o) }

func (v *view[T]) set(o any) {
	object, ok := o.(T)
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(object)
	v.mu.Lock()
	before, existed := v.watched[key]
	v.watched[key] = object
	if w, found := v.written[key]; found && newer(object, w) {
		delete(v.written, key)
	}
	if existed && before.GetUID() != object.GetUID() {
		delete(v.deleted, before.GetUID())
	}
	v.mu.Unlock()
	if !existed || v.relevant == nil || before.GetUID() != object.GetUID() || v.relevant(before, object) {
		v.fire()
	}
}

// OnDelete receives the deletion of an object from the watch.
func (v *view[T]) OnDelete(o any) {
	missed := false
	if unknown, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o, missed = unknown.Obj, true
	}
	object, ok := o.(T)
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(object)
	v.mu.Lock()
	delete(v.watched, key)
	delete(v.deleted, object.GetUID())
	if w, found := v.written[key]; found && (newer(object, w) || missed && w.GetUID() == object.GetUID()) {
		delete(v.written, key)
	}
	v.mu.Unlock()
	v.fire()
}

func (v *view[T]) fire() {
	for _, t := range v.wake {
		t.Fire()
	}
}

// list returns all objects in no particular order. Callers must not change them.
func (v *view[T]) list() []T {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make([]T, 0, len(v.watched)+len(v.written))
	for key, o := range v.watched {
		if w, found := v.written[key]; found {
			o = w
		}
		if !v.deleted[o.GetUID()] {
			out = append(out, o)
		}
	}
	for key, o := range v.written {
		if _, found := v.watched[key]; !found && !v.deleted[o.GetUID()] {
			out = append(out, o)
		}
	}
	return out
}

// wrote records an object as returned by the API server.
func (v *view[T]) wrote(object T) {
	key := client.ObjectKeyFromObject(object)
	v.mu.Lock()
	defer v.mu.Unlock()
	if w, found := v.watched[key]; found && newer(w, object) {
		return
	}
	if w, found := v.written[key]; found && newer(w, object) {
		return
	}
	v.written[key] = object
}

// removed records the deletion of an object.
func (v *view[T]) removed(object T) {
	key := client.ObjectKeyFromObject(object)
	v.mu.Lock()
	defer v.mu.Unlock()
	if w, found := v.written[key]; found && w.GetUID() == object.GetUID() {
		delete(v.written, key)
	}
	if w, found := v.watched[key]; found && w.GetUID() == object.GetUID() {
		v.deleted[object.GetUID()] = true
	}
}

// refresh lists all objects without the watch: at the start, when the watch may lag, and after a write with an unknown result.
func (v *view[T]) refresh(ctx context.Context, reader client.Reader, list client.ObjectList) error {
	if err := reader.List(ctx, list); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	known := map[client.ObjectKey]bool{}
	err := meta.EachListItem(list, func(o runtime.Object) error {
		object, ok := o.(T)
		if !ok {
			return fmt.Errorf("list %T has a %T", list, o)
		}
		known[client.ObjectKeyFromObject(object)] = true
		v.wrote(object)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read list: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, w := range v.written {
		if order, err := resourceversion.CompareResourceVersion(list.GetResourceVersion(), w.GetResourceVersion()); err == nil && order >= 0 && !known[key] {
			delete(v.written, key) // it was deleted before the list was read
		}
	}
	return nil
}
