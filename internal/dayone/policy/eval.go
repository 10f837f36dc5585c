package policy

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// eval evaluates the steps in order.
func (e expression) eval(state any, found map[string]any) (any, error) {
	current := state
	for _, s := range e {
		if s.path[0] == "capture" {
			v, err := lookup(found, s.path[1:])
			if err != nil {
				return nil, err
			}
			current = v
			continue
		}
		operand := s.operand
		if r, ok := operand.(reference); ok {
			v, err := lookup(found, r[1:])
			if err != nil {
				return nil, err
			}
			operand = v
		}
		current, _ = s.apply(current, s.path, operand)
	}
	return current, nil
}

// apply returns the part of a value that a step selects, and whether it is not empty. In a list, it applies the step to each entry. It does not modify the
// value, which several captures share.
func (s step) apply(v any, path []string, operand any) (any, bool) {
	if len(path) == 0 {
		switch s.op {
		case opEqual:
			return v, equal(v, operand)
		case opMatch:
			t, ok := scalar(v)
			return v, ok && operand.(*regexp.Regexp).MatchString(t)
		case opSet:
			return operand, true
		}
		return v, v != nil
	}
	switch v := v.(type) {
	case map[string]any:
		return s.applyMap(v, path, operand)
	case []any:
		var kept []any
		for _, e := range v {
			if r, ok := s.apply(e, path, operand); ok {
				kept = append(kept, s.entry(e, r))
			}
		}
		return kept, len(kept) > 0
	}
	return nil, false
}

// entry returns the result for an entry of a list: the whole entry if the step selects by one of its values, and otherwise the result of the step.
func (s step) entry(entry, result any) any {
	if s.op == opEqual || s.op == opMatch {
		return entry
	}
	return result
}

func (s step) applyMap(m map[string]any, path []string, operand any) (any, bool) {
	if s.op == opSet {
		return set(s, m, path, operand), true
	}
	below, ok := m[path[0]]
	if !ok {
		return nil, false
	}
	r, ok := s.apply(below, path[1:], operand)
	if !ok {
		return nil, false
	}
	return map[string]any{path[0]: r}, true
}

// set returns an object with a value at a path, and creates missing parents. Setting nil removes the last key.
func set(s step, m map[string]any, path []string, operand any) map[string]any {
	out := maps.Clone(m)
	name := path[0]
	below, exists := m[name]
	switch {
	case operand == nil && (len(path) == 1 || !exists):
		if len(path) == 1 {
			delete(out, name)
		}
	case len(path) == 1:
		out[name] = operand
	default:
		if !exists || below == nil {
			below = map[string]any{}
		}
		if r, ok := s.apply(below, path[1:], operand); ok {
			out[name] = r
		}
	}
	return out
}

// equal compares like NMState: a number is equal to its text, and the case of MAC addresses is ignored.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, y := text(a), text(b)
	if mac, ok := nmstate.MAC(x); ok {
		other, ok := nmstate.MAC(y)
		return ok && mac == other
	}
	return x != "" && x == y
}

// text returns the text of a scalar; empty for lists and objects.
func text(v any) string {
	t, _ := scalar(v)
	return t
}

// scalar returns the text of a scalar, and whether the value is one.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

// lookup follows a path through captures, with numbers for entries of lists.
func lookup(found map[string]any, path []string) (any, error) {
	v, ok := found[path[0]]
	if !ok {
		known := slices.Sorted(maps.Keys(found))
		return nil, fmt.Errorf("refers to capture %q, which does not exist; there are %s", path[0], strings.Join(known, ", "))
	}
	for i, name := range path[1:] {
		at := "capture." + strings.Join(path[:i+1], ".")
		switch on := v.(type) {
		case map[string]any:
			if v, ok = on[name]; !ok {
				return nil, fmt.Errorf("refers to %s of %s, which the host does not have", name, at)
			}
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(on) {
				return nil, fmt.Errorf("refers to entry %s of %s, which has %d", name, at, len(on))
			}
			v = on[n]
		default:
			return nil, fmt.Errorf("refers to %s of %s, which found nothing on this host", name, at)
		}
	}
	return v, nil
}
