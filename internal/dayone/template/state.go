package template

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// tree is a decoded JSON object.
type tree = map[string]any

// state is a document split into captures and desired state. A document without captures has the plain form.
type state struct{ capture, desired tree }

// The keys of a document with captures.
const (
	keyCapture = "capture"
	keyDesired = "desiredState"
)

// decode decodes a document in an object. Without one, the state is empty.
func decode(at *field.Path, raw *runtime.RawExtension) (tree, *field.Error) {
	if raw == nil || len(raw.Raw) == 0 {
		return tree{}, nil
	}
	var all tree
	if err := json.Unmarshal(raw.Raw, &all); err != nil {
		return nil, field.Invalid(at, string(raw.Raw), fmt.Sprintf("is not an object: %v", err))
	}
	return all, nil
}

// split splits a document of either form.
func split(all tree) state {
	capture, hasCapture := all[keyCapture].(tree)
	desired, hasDesired := all[keyDesired].(tree)
	if !hasCapture && !hasDesired {
		return state{desired: all}
	}
	return state{capture: capture, desired: desired}
}

// whole is the inverse of split.
func (s state) whole() tree {
	if len(s.capture) == 0 {
		return s.desired
	}
	return tree{keyCapture: s.capture, keyDesired: s.desired}
}

// over merges a state into another: maps by key, interfaces by name and type, and all other values as a whole. It modifies neither.
func over(below, above state) state {
	return state{capture: overlay(below.capture, above.capture), desired: overlay(below.desired, above.desired)}
}

func overlay(below, above tree) tree {
	out := tree{}
	for key, value := range below {
		out[key] = value
	}
	for key, value := range above {
		lower, isTree := out[key].(tree)
		upper, upperIsTree := value.(tree)
		switch {
		case key == "interfaces":
			out[key] = overlayInterfaces(list(out[key]), list(value))
		case isTree && upperIsTree:
			out[key] = overlay(lower, upper)
		default:
			out[key] = value
		}
	}
	return out
}

func overlayInterfaces(below, above []any) []any {
	out := append([]any{}, below...)
	for _, item := range above {
		upper, ok := item.(tree)
		at := -1
		if ok {
			at = find(out, upper)
		}
		if at < 0 {
			out = append(out, item)
			continue
		}
		out[at] = overlay(out[at].(tree), upper)
	}
	return out
}

// find returns the index of the interface with the name and type of another. A missing type matches all types except those of Open vSwitch, where interfaces
// share names.
func find(all []any, wanted tree) int {
	for i, item := range all {
		existing, ok := item.(tree)
		if !ok || word(existing, "name") == "" || word(existing, "name") != word(wanted, "name") {
			continue
		}
		a, b := word(existing, "type"), word(wanted, "type")
		if a == b || a == "" && !isOVS(b) || b == "" && !isOVS(a) {
			return i
		}
	}
	return -1
}

func isOVS(kind string) bool { return kind == "ovs-bridge" || kind == "ovs-interface" }

// word returns a text of a tree; empty if it is missing or not a text.
func word(t tree, key string) string {
	text, _ := t[key].(string)
	return text
}

// list returns a value as a list; nil if it is not a list.
func list(value any) []any {
	items, _ := value.([]any)
	return items
}

// add appends to a list at a path of a tree, and creates it if it is missing. It modifies the tree.
func add(into tree, items []any, path ...string) {
	if len(items) == 0 {
		return
	}
	for _, key := range path[:len(path)-1] {
		inner, ok := into[key].(tree)
		if !ok {
			inner = tree{}
			into[key] = inner
		}
		into = inner
	}
	last := path[len(path)-1]
	into[last] = append(append([]any{}, list(into[last])...), items...)
}
