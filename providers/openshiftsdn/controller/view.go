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

// view is all objects of a kind: what a watch reports, and what this program has written and the watch has not reported yet. So a decision
// takes all decisions before it into account.
type view[T client.Object] struct {
	// relevant reports whether an update matters to a loop; nil if each does.
	relevant func(before, now T) bool
	// wake are fired when something has changed.
	wake []agent.Trigger

	mu      sync.Mutex
	watched map[client.ObjectKey]T
	// written are newer than watched.
	written map[client.ObjectKey]T
	// deleted are UIDs of objects that are watched, and are deleted.
	deleted map[types.UID]bool
}

func newView[T client.Object](relevant func(before, now T) bool, wake ...agent.Trigger) *view[T] {
	return &view[T]{relevant: relevant, wake: wake, watched: map[client.ObjectKey]T{}, written: map[client.ObjectKey]T{}, deleted: map[types.UID]bool{}}
}

// newer reports whether an object is at least as new as another one of the same kind.
func newer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order >= 0
}

// OnAdd takes an object from the watch.
func (v *view[T]) OnAdd(o any, _ bool) { v.set(o) }

// OnUpdate takes an object from the watch.
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

// OnDelete takes the end of an object from the watch.
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

// list returns all objects, which must not be changed, in no order.
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

// wrote takes an object as the API server answered.
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

// removed takes that an object was deleted.
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

// refresh reads all objects past the watch: at the start, as the watch may begin with an old state, and when a write has an unknown result.
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
			delete(v.written, key) // it was deleted before the list was made
		}
	}
	return nil
}
