// Package plan decides the actions that turn the objects of a cluster into the desired ones. Its input are the desired and
// the live objects, and the inventory of objects that the operator has applied before; its output, a Plan, is a value that
// package apply executes and that commands print.
//
// It is pure: it reads live objects by a Lookup, and keeps no state. An object is up to date if it has all desired values,
// and if the annotation manifest.AnnotationHash shows that no other field was desired before. So a new process makes the
// same plan as the previous one, and the plan for a converged cluster needs no requests.
//
// A plan never deletes objects that the operator has not created: an object without the operator's label, or one that
// existed before the operator took it over, is kept.
package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Verb is the action on an object.
type Verb string

// The verbs.
const (
	// None means that the object is up to date.
	None Verb = "none"
	// Create creates an object that does not exist.
	Create Verb = "create"
	// Apply changes the fields that differ, by server-side apply.
	Apply Verb = "apply"
	// Recreate deletes and creates the object, because an immutable field differs.
	Recreate Verb = "recreate"
	// Delete deletes an object that is not rendered any more.
	Delete Verb = "delete"
	// Keep keeps an object that is not rendered any more.
	Keep Verb = "keep"
	// Skip skips an optional object whose API is unavailable.
	Skip Verb = "skip"
	// Blocked means that the object is not up to date and cannot be changed now.
	Blocked Verb = "blocked"
)

// Action is the action on one object with its reasons.
type Action struct {
	Verb Verb         `json:"verb"`
	Key  manifest.Key `json:"object"`
	// Version is the API version of the desired object or, if it is not desired, of the last applied one.
	Version string `json:"version"`
	// Component is the component of the object.
	Component string `json:"component,omitempty"`
	// Reasons are sentences. They never contain values of Secrets.
	Reasons []string `json:"reasons,omitempty"`
	// UID is that of the live object; empty if there is none, or none is known.
	UID types.UID `json:"uid,omitempty"`
	// Adopted is true for an object that existed before the operator took it over. It is never deleted.
	Adopted bool `json:"adopted,omitempty"`
	// Orphan, for Recreate, keeps the pods of a workload running when it is deleted, since the new one selects them by their
	// labels and replaces them one by one.
	Orphan bool `json:"orphan,omitempty"`
	// Object is the desired object; empty if it is not rendered any more.
	Object manifest.Object `json:"-"`
}

// Wanted returns the object to apply: the desired object with its hash.
func (a Action) Wanted() *unstructured.Unstructured {
	wanted := a.Object.Object.DeepCopy()
	annotations := wanted.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[manifest.AnnotationHash] = manifest.Hash(a.Object)
	wanted.SetAnnotations(annotations)
	return wanted
}

// GVK returns the kind of the object.
func (a Action) GVK() schema.GroupVersionKind { return a.Key.GroupKind().WithVersion(a.Version) }

// Writes reports whether the action writes the desired object.
func (a Action) Writes() bool { return a.Verb == Create || a.Verb == Apply || a.Verb == Recreate }

// Plan is a list of actions in the order of their execution: desired objects by manifest.Rank, then deletions in reverse
// order. Actions of the same rank may be executed concurrently.
type Plan struct {
	Actions []Action `json:"actions"`
	// Inventory is the inventory from which the plan was made.
	Inventory Inventory `json:"-"`
}

// Lookup returns a live object, or false if none is known.
type Lookup func(manifest.Key) (*unstructured.Unstructured, bool)

// Input is the input of a plan.
type Input struct {
	// Desired are the desired objects, in any order.
	Desired []manifest.Object
	// Live returns live objects. It must have all kinds that are desired or in the inventory. Its objects are only read.
	Live Lookup
	// Inventory has the objects that the operator has applied before.
	Inventory Inventory
	// Serves reports whether the API server serves a kind; nil if it serves all.
	Serves func(schema.GroupKind) bool
	// Health reports whether a desired workload is healthy in its current revision, or the reason why not; nil means
	// RolledOut. Nothing is deleted before all critical workloads are healthy.
	Health func(live *unstructured.Unstructured) (healthy bool, why string)
	// InUse reports whether objects of the kind of a CRD exist: the CRD is kept then. If nil, the plan deletes the CRD, and
	// package apply checks before.
	InUse func(crd *unstructured.Unstructured) bool
	// Incomplete, if not empty, is the reason why Desired is incomplete. Nothing is deleted then.
	Incomplete string
	// Eventual includes later deletions in the plan: those of objects that are deleted once their replacements are healthy.
	Eventual bool
}

// Pending returns the actions that change something: all except None, Keep and Skip.
func (p Plan) Pending() []Action {
	var pending []Action
	for _, a := range p.Actions {
		if a.Writes() || a.Verb == Delete || a.Verb == Blocked {
			pending = append(pending, a)
		}
	}
	return pending
}

// Converged reports whether there is nothing to do, so that executing the plan sends no request.
func (p Plan) Converged() bool {
	return len(p.Pending()) == 0 && p.After(nil).Equal(p.Inventory)
}
