// Package plan decides what has to be done so that the objects in a cluster become those that are wanted. Its input
// is the wanted objects, what is there, and the inventory of what the operator has applied before; its output, a
// Plan, is a value that package apply executes, and that people read.
//
// It is pure: it asks a Lookup for what is there, and remembers nothing. Whether an object is as wanted is read
// from the object itself: every wanted value is there, and the annotation manifest.AnnotationHash says that no
// field was wanted before that is not wanted now. So a new process makes the same plan as the one before it, and the
// plan for a cluster that is as wanted asks for no request at all.
//
// A plan never deletes what the operator has not made: an object without the operator's label, or one that was
// there before the operator took it over, is kept.
package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Verb is what is done with an object.
type Verb string

// The verbs.
const (
	// None leaves the object alone: it is as wanted.
	None Verb = "none"
	// Create makes an object that is not there.
	Create Verb = "create"
	// Apply changes the fields that differ, by server-side apply.
	Apply Verb = "apply"
	// Recreate deletes and creates the object: a field differs that the API server does not let anyone change.
	Recreate Verb = "recreate"
	// Delete removes an object that is not rendered any more.
	Delete Verb = "delete"
	// Keep leaves an object alone that is not rendered any more.
	Keep Verb = "keep"
	// Skip leaves out an object of a kind that the API server does not serve, and that may be missing.
	Skip Verb = "skip"
	// Blocked means that the object is not as wanted, and that nothing can be done about it now.
	Blocked Verb = "blocked"
)

// Action is what is done with one object, and why.
type Action struct {
	Verb Verb         `json:"verb"`
	Key  manifest.Key `json:"object"`
	// Version is the API version in which the object is wanted or, if it is not wanted, was applied last.
	Version string `json:"version"`
	// Component is the part of the network that the object belongs to.
	Component string `json:"component,omitempty"`
	// Reasons are sentences for people. Values of Secrets are never among them.
	Reasons []string `json:"reasons,omitempty"`
	// UID is that of the object that is there; empty if there is none, or none was seen.
	UID types.UID `json:"uid,omitempty"`
	// Adopted is true for an object that was there before the operator took it over. It is never deleted.
	Adopted bool `json:"adopted,omitempty"`
	// Orphan, for Recreate, leaves the pods of a workload running when it is deleted, since the new one will find
	// them by their labels and replace them one by one.
	Orphan bool `json:"orphan,omitempty"`
	// Object is what is wanted; empty for what is not rendered any more.
	Object manifest.Object `json:"-"`
}

// Wanted returns what is to be sent to the API server: the wanted object with its hash.
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

// Writes reports whether the action brings a wanted object into the cluster.
func (a Action) Writes() bool { return a.Verb == Create || a.Verb == Apply || a.Verb == Recreate }

// Plan is a list of actions, in the order in which they are done: wanted objects by manifest.Rank, then deletions
// the other way round. What has the same rank may be done at once.
type Plan struct {
	Actions []Action `json:"actions"`
	// Inventory is what the plan was made from.
	Inventory Inventory `json:"-"`
}

// Lookup returns an object that is in the cluster, or false if there is none, as far as the caller knows.
type Lookup func(manifest.Key) (*unstructured.Unstructured, bool)

// Input is what a plan is made from.
type Input struct {
	// Desired are the wanted objects, in any order.
	Desired []manifest.Object
	// Live knows what is there. It must know all kinds that are wanted or in the inventory; what it returns is
	// only read.
	Live Lookup
	// Inventory is what the operator has applied before.
	Inventory Inventory
	// Serves reports whether the API server serves a kind; nil if it serves all.
	Serves func(schema.GroupKind) bool
	// Health reports whether a wanted workload does its work in its present form and, if not, why; nil is RolledOut.
	// Nothing is deleted before all workloads are healthy but those that are not critical.
	Health func(live *unstructured.Unstructured) (healthy bool, why string)
	// InUse reports whether there are objects of the kind that a CustomResourceDefinition defines: it is kept then.
	// If nil, the plan is to delete it, and package apply looks before it does.
	InUse func(crd *unstructured.Unstructured) bool
	// Incomplete, if not empty, says why Desired is not everything. Nothing is deleted then.
	Incomplete string
	// Eventual plans what is done in the end: objects that are deleted once what takes their place works are reported as
	// deleted.
	Eventual bool
}

// Pending returns the actions that ask for something: all but None, Keep and Skip.
func (p Plan) Pending() []Action {
	var pending []Action
	for _, a := range p.Actions {
		if a.Writes() || a.Verb == Delete || a.Verb == Blocked {
			pending = append(pending, a)
		}
	}
	return pending
}

// Converged reports whether there is nothing to do, so that executing the plan makes no request.
func (p Plan) Converged() bool {
	return len(p.Pending()) == 0 && p.After(nil).Equal(p.Inventory)
}
