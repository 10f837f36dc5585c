package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Make returns a plan. The only error is that an object is desired twice.
func Make(in Input) (Plan, error) {
	if in.Serves == nil {
		in.Serves = servesAll
	}
	if in.Health == nil {
		in.Health = RolledOut
	}
	m := maker{Input: in, known: in.Inventory.byKey(), wanted: make(map[manifest.Key]bool, len(in.Desired)), defined: map[schema.GroupKind]bool{}}
	for _, o := range in.Desired {
		key := o.Key()
		if m.wanted[key] {
			return Plan{}, fmt.Errorf("make plan: %s is rendered twice", key)
		}
		m.wanted[key] = true
		if isCRD(key) {
			m.defined[definedBy(o.Object)] = true
		}
	}
	p := Plan{Inventory: in.Inventory, Actions: make([]Action, 0, len(in.Desired))}
	for _, o := range manifest.Sorted(in.Desired) {
		p.Actions = append(p.Actions, m.apply(o))
	}
	p.Actions = append(p.Actions, m.unrendered(m.waitsFor(p.Actions))...)
	return p, nil
}

func servesAll(schema.GroupKind) bool { return true }

type maker struct {
	Input
	known   map[manifest.Key]Entry
	wanted  map[manifest.Key]bool
	defined map[schema.GroupKind]bool // kinds whose CRD is desired
}

// apply decides the action for a desired object.
func (m maker) apply(o manifest.Object) Action {
	key := o.Key()
	a := Action{Key: key, Version: o.Object.GroupVersionKind().Version, Component: o.Object.GetLabels()[manifest.LabelComponent],
		Adopted: m.known[key].Adopted, Object: o}
	if !m.Serves(key.GroupKind()) && !m.defined[key.GroupKind()] {
		a.Verb, a.Reasons = Blocked, []string{fmt.Sprintf("the API server does not serve %s in %s", key.Kind, o.Object.GetAPIVersion())}
		if o.Policy.IgnoreMissingKind {
			a.Verb = Skip
		}
		return a
	}
	live, found := m.Live(key)
	if !found {
		return a.write(Create, o, "it does not exist")
	}
	a.UID = live.GetUID()
	if live.GetDeletionTimestamp() != nil {
		a.Verb, a.Reasons = Blocked, []string{"it is being deleted; " + deletionBlockers(live)}
		return a
	}
	if o.Policy.CreateOnly {
		a.Verb = None
		return a
	}
	return m.change(a, o, live)
}

// change decides the action for a desired object that exists.
func (m maker) change(a Action, o manifest.Object, live *unstructured.Unstructured) Action {
	var reasons []string
	foreign := live.GetLabels()[manifest.LabelManagedBy] != manifest.ManagedBy
	if _, recorded := m.known[a.Key]; foreign && !recorded {
		a.Adopted = true
		reasons = append(reasons, "it existed before, without the operator's label: the operator takes over the fields that it sets, and will never delete it")
	}
	if fixed := immutable(o.Object, live); len(fixed) > 0 {
		return m.recreate(a, o, live, append(reasons, fixed...))
	}
	reasons = append(reasons, Differences(o.Object, live)...)
	if len(reasons) == 0 {
		if live.GetAnnotations()[manifest.AnnotationHash] == manifest.Hash(o) {
			a.Verb = None
			return a
		}
		reasons = []string{"a field that was wanted before is not wanted any more, or another version of the operator wrote it"}
	}
	return a.write(Apply, o, reasons...)
}

// recreate decides the action for an object with a difference in an immutable field.
func (m maker) recreate(a Action, o manifest.Object, live *unstructured.Unstructured, reasons []string) Action {
	switch {
	case isCRD(a.Key):
		a.Verb, a.Reasons = Blocked, slices.Concat(reasons, []string{"recreating it would delete all objects of its kind"})
		return a
	case a.Adopted:
		a.Verb, a.Reasons = Blocked, slices.Concat(reasons, []string{"it does not belong to the operator, which therefore does not delete and recreate it: delete or rename it"})
		return a
	}
	a.Orphan = adopts(o.Object, live)
	return a.write(Recreate, o, reasons...)
}

// write completes an action that writes an object.
func (a Action) write(verb Verb, o manifest.Object, reasons ...string) Action {
	a.Verb, a.Object, a.Reasons = verb, o, reasons
	return a
}

// Seen decides the action again for an object that was to be created but exists, because the cache of the plan's Lookup was
// outdated or has only objects with the operator's label. The inventory is that of the plan.
func (a Action) Seen(live *unstructured.Unstructured, inventory Inventory) Action {
	m := maker{
		Input: Input{Live: func(manifest.Key) (*unstructured.Unstructured, bool) { return live, true }, Serves: servesAll},
		known: inventory.byKey(),
	}
	return m.apply(a.Object)
}

// waitsFor returns the reason why nothing may be deleted yet; "" if there is none.
func (m maker) waitsFor(actions []Action) string {
	if m.Incomplete != "" || m.Eventual {
		return m.Incomplete
	}
	policies := map[manifest.Key]manifest.Policy{}
	for _, o := range m.Desired {
		policies[o.Key()] = o.Policy
	}
	var why []string
	for _, a := range actions {
		if policies[a.Key].NonCritical || !manifest.IsWorkload(a.Key.GroupKind()) {
			continue
		}
		if a.Verb != None {
			why = append(why, fmt.Sprintf("%s: it is to be %s", a.Key, pastOf(a.Verb)))
			continue
		}
		live, _ := m.Live(a.Key)
		if healthy, sentence := m.Health(live); !healthy {
			why = append(why, sentence)
		}
	}
	return strings.Join(why, "; ")
}

func pastOf(v Verb) string {
	if v == Apply {
		return "changed"
	}
	if v == Blocked || v == Skip {
		return string(v) // these verbs are only reported
	}
	return string(v) + "d"
}

// unrendered decides the actions for objects of the inventory that are not desired any more.
func (m maker) unrendered(waitsFor string) []Action {
	var actions []Action
	for _, e := range m.Inventory {
		if m.wanted[e.Key] {
			continue
		}
		// An object that is being deleted needs no action, and is dropped from the inventory.
		if live, found := m.Live(e.Key); !found || live.GetDeletionTimestamp() == nil {
			actions = append(actions, m.remove(e, waitsFor))
		}
	}
	slices.SortStableFunc(actions, func(a, b Action) int {
		return manifest.Rank(b.Key.GroupKind()) - manifest.Rank(a.Key.GroupKind())
	})
	return actions
}

func (m maker) remove(e Entry, waitsFor string) Action {
	a := Action{Verb: Keep, Key: e.Key, Version: e.Version, Component: e.Component, UID: e.UID, Adopted: e.Adopted}
	live, found := m.Live(e.Key)
	if !found && waitsFor != "" {
		a.Reasons = []string{"it was not seen, and is deleted when what takes its place works: " + waitsFor}
		return a
	}
	if !found {
		// It may have been created a moment ago, so that the cache does not have it yet.
		a.Verb, a.UID, a.Reasons = Delete, "", []string{"it is not rendered any more, and was not seen"}
		return a
	}
	a.UID = live.GetUID()
	switch {
	case e.Adopted:
		a.Reasons = []string{"it existed before the operator took it over"}
	case live.GetLabels()[manifest.LabelManagedBy] != manifest.ManagedBy:
		a.Reasons = []string{"it does not have the operator's label " + manifest.LabelManagedBy + "=" + manifest.ManagedBy + "; delete it manually if it is not needed"}
	case waitsFor != "":
		a.Reasons = []string{"it is not rendered any more, and is deleted when what takes its place works: " + waitsFor}
	case isCRD(e.Key) && m.InUse != nil && m.InUse(live):
		a.Reasons = []string{InUseReason(live)}
	case m.holds(e.Key) != "":
		a.Reasons = []string{"it still holds " + m.holds(e.Key)}
	default:
		a.Verb, a.Reasons = Delete, []string{"it is not rendered any more"}
	}
	return a
}

// InUseReason returns the sentence for a CRD that is kept since objects of its kind exist.
func InUseReason(crd *unstructured.Unstructured) string {
	return fmt.Sprintf("there are objects of kind %s, which would be deleted with it; delete them first", definedBy(crd).Kind)
}

// holds returns a desired object in the namespace with a key; "" if there is none.
func (m maker) holds(key manifest.Key) string {
	if key.Group != "" || key.Kind != "Namespace" {
		return ""
	}
	for _, o := range m.Desired {
		if o.Object.GetNamespace() == key.Name {
			return o.Key().String()
		}
	}
	return ""
}

func isCRD(key manifest.Key) bool {
	return key.Group == "apiextensions.k8s.io" && key.Kind == "CustomResourceDefinition"
}

// definedBy returns the kind that a CRD defines.
func definedBy(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// deletionBlockers describes what blocks the deletion of an object.
func deletionBlockers(live *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	var causes []string
	for _, c := range conditions {
		// The conditions of a namespace describe the remaining objects and finalizers.
		if c, ok := c.(map[string]any); ok && c["status"] == "True" && live.GetKind() == "Namespace" {
			causes = append(causes, fmt.Sprint(c["message"]))
		}
	}
	if finalizers := live.GetFinalizers(); len(finalizers) > 0 {
		causes = append(causes, "finalizers "+strings.Join(finalizers, ", "))
	}
	if len(causes) == 0 {
		return "it is created again after its deletion"
	}
	return "blocked by: " + strings.Join(causes, "; ")
}
