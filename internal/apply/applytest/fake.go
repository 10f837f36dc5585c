// Package applytest has a fake of the client of package apply that implements server-side apply: it removes fields that are
// not applied any more, keeps those of other managers, requires namespaces to exist, checks UIDs, and does not change the
// resource version if nothing changes. It has no schemas: lists are replaced as a whole.
package applytest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Call is a recorded request.
type Call struct {
	// Verb is get, apply, replace, delete or inuse.
	Verb string
	Key  manifest.Key
}

// Writes reports whether the call may write.
func (c Call) Writes() bool { return c.Verb != "get" && c.Verb != "inuse" }

// Fake is an API server in memory. Use NewFake.
type Fake struct {
	// Fail, if set, is called before each request; the request fails with its error.
	Fail func(Call) error

	mu       sync.Mutex
	revision int
	objects  map[manifest.Key]*unstructured.Unstructured
	applied  map[manifest.Key]map[string]any // the last applied objects
	calls    []Call
}

var _ apply.Client = (*Fake)(nil)

// NewFake returns a fake with objects and their namespaces.
func NewFake(objects ...*unstructured.Unstructured) *Fake {
	f := &Fake{objects: map[manifest.Key]*unstructured.Unstructured{}, applied: map[manifest.Key]map[string]any{}}
	for _, o := range objects {
		f.Put(o)
	}
	return f
}

// Put stores an object and its namespace as another client.
func (f *Fake) Put(obj *unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if namespace := obj.GetNamespace(); namespace != "" && f.objects[manifest.Key{Kind: "Namespace", Name: namespace}] == nil {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}
		f.store(manifest.KeyOf(u), u)
	}
	f.store(manifest.KeyOf(obj), obj.DeepCopy())
}

// Live returns a stored object. It is a plan.Lookup.
func (f *Fake) Live(key manifest.Key) (*unstructured.Unstructured, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, ok := f.objects[key]
	return o.DeepCopy(), ok
}

// Calls returns the requests since the last call.
func (f *Fake) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// Keys returns the keys of all objects, sorted.
func (f *Fake) Keys() []manifest.Key {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Keys(f.objects), manifest.Key.Compare)
}

// begin records a request.
func (f *Fake) begin(verb string, key manifest.Key) error {
	f.mu.Lock()
	f.calls = append(f.calls, Call{verb, key})
	f.mu.Unlock()
	if f.Fail != nil {
		return f.Fail(Call{verb, key})
	}
	return nil
}

// Get implements apply.Client.
func (f *Fake) Get(ctx context.Context, ref apply.Ref) (*unstructured.Unstructured, error) {
	key := keyOf(ref)
	if err := f.begin("get", key); err != nil {
		return nil, err
	}
	if o, ok := f.Live(key); ok {
		return o, ctx.Err()
	}
	return nil, notFound(key)
}

// Apply implements apply.Client.
func (f *Fake) Apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	key := manifest.KeyOf(obj)
	if err := f.begin("apply", key); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.objects[manifest.Key{Kind: "Namespace", Name: key.Namespace}]; key.Namespace != "" && !ok {
		return nil, notFound(manifest.Key{Kind: "Namespace", Name: key.Namespace})
	}
	next := f.objects[key].DeepCopy()
	if next == nil {
		next = &unstructured.Unstructured{Object: map[string]any{}}
	}
	wanted := normal(obj.Object)
	drop(next.Object, f.applied[key], wanted)
	merge(next.Object, wanted)
	f.applied[key] = wanted
	f.store(key, next)
	return next.DeepCopy(), ctx.Err()
}

// Replace implements apply.Client.
func (f *Fake) Replace(ctx context.Context, obj *unstructured.Unstructured) error {
	key := manifest.KeyOf(obj)
	if err := f.begin("replace", key); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	existing, ok := f.objects[key]
	if !ok {
		return notFound(key)
	}
	if existing.GetResourceVersion() != obj.GetResourceVersion() {
		return apierrors.NewConflict(resource(key), key.Name, fmt.Errorf("the object has been modified"))
	}
	f.store(key, &unstructured.Unstructured{Object: normal(obj.Object)})
	return ctx.Err()
}

// Delete implements apply.Client.
func (f *Fake) Delete(ctx context.Context, ref apply.Ref, uid types.UID, _ metav1.DeletionPropagation) error {
	key := keyOf(ref)
	if err := f.begin("delete", key); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	existing, ok := f.objects[key]
	if !ok {
		return notFound(key)
	}
	if existing.GetUID() != uid {
		return apierrors.NewConflict(resource(key), key.Name, fmt.Errorf("the UID in the precondition (%s) is not %s", uid, existing.GetUID()))
	}
	delete(f.objects, key)
	delete(f.applied, key)
	return ctx.Err()
}

// InUse implements apply.Client.
func (f *Fake) InUse(ctx context.Context, crd *unstructured.Unstructured) (bool, error) {
	if err := f.begin("inuse", manifest.KeyOf(crd)); err != nil {
		return false, err
	}
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return slices.ContainsFunc(f.Keys(), func(k manifest.Key) bool { return k.Group == group && k.Kind == kind }), ctx.Err()
}

// store stores an object with the metadata that servers set. CRDs are established immediately.
func (f *Fake) store(key manifest.Key, obj *unstructured.Unstructured) {
	existing := f.objects[key]
	if existing != nil && reflect.DeepEqual(existing.Object, obj.Object) {
		return
	}
	f.revision++
	if obj.GetUID() == "" {
		obj.SetUID(types.UID("uid-" + strconv.Itoa(f.revision)))
	}
	obj.SetResourceVersion(strconv.Itoa(f.revision))
	if key.Kind == "CustomResourceDefinition" {
		obj.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	}
	f.objects[key] = obj
}

// drop removes the fields that were applied before and are not applied any more.
func drop(existing, before, now map[string]any) {
	for name, value := range before {
		wanted, stays := now[name]
		if !stays {
			delete(existing, name)
			continue
		}
		old, isMap := value.(map[string]any)
		next, nextIsMap := wanted.(map[string]any)
		present, presentIsMap := existing[name].(map[string]any)
		if isMap && nextIsMap && presentIsMap {
			drop(present, old, next)
		}
	}
}

func merge(existing, wanted map[string]any) {
	for name, value := range wanted {
		present, presentIsMap := existing[name].(map[string]any)
		if tree, isMap := value.(map[string]any); isMap && presentIsMap {
			merge(present, tree)
			continue
		}
		existing[name] = runtime.DeepCopyJSONValue(value)
	}
}

// normal returns a tree after encoding and decoding.
func normal(tree map[string]any) map[string]any {
	text, err := json.Marshal(tree)
	if err != nil {
		panic(err) // objects always have a JSON encoding
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		panic(err)
	}
	return u.Object
}

func keyOf(ref apply.Ref) manifest.Key {
	return manifest.Key{Group: ref.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

func resource(key manifest.Key) schema.GroupResource {
	return schema.GroupResource{Group: key.Group, Resource: key.Kind}
}

func notFound(key manifest.Key) error { return apierrors.NewNotFound(resource(key), key.Name) }
