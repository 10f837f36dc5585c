package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// maxReasons is the maximum number of differences of one object that are reported.
const maxReasons = 8

// Differences returns the wanted values that an object does not have, each as a sentence like
// "spec.template.spec.containers[flanneld].image: a -> b". It returns nil if existing is none.
//
// It ignores fields of the object that server-side apply would keep: defaults and fields of other managers. So lists with
// keys are compared by entry in any order, while atomic lists and maps have to be equal except for defaults. This is known
// for the kinds of Kubernetes itself; in other kinds, all lists are atomic, but their entries may have more fields.
func Differences(want, live *unstructured.Unstructured) []string {
	d := newDiffer(want)
	for field, value := range want.Object {
		switch field {
		case "apiVersion", "kind", "status":
		case "metadata":
			d.metadata(value, live.Object[field])
		default:
			d.at(field)
			d.compare(value, live.Object[field], field, false)
		}
	}
	return d.reasons()
}

// differ walks two trees and collects the values that the second one lacks.
type differ struct {
	path    []step // the current position
	builtIn bool   // the kind is one of Kubernetes itself
	secret  bool   // values must not be reported
	found   []string
}

// step is one step of a path: the name of a field or, if that is empty, an entry of a list by its key or index. It is
// formatted only for differences.
type step struct {
	field string
	entry any
	keys  []string
	index int
}

// at sets the path to that of a field.
func (d *differ) at(fields ...string) {
	d.path = d.path[:0]
	for _, field := range fields {
		d.path = append(d.path, step{field: field})
	}
}

func newDiffer(want *unstructured.Unstructured) *differ {
	key := manifest.KeyOf(want)
	return &differ{builtIn: isBuiltIn(key.Group), secret: key.Group == "" && key.Kind == "Secret", path: make([]step, 0, 16)}
}

// metadata compares the metadata that a client can set, except the name, which is always equal.
func (d *differ) metadata(want, live any) {
	wanted, _ := want.(map[string]any)
	existing, _ := live.(map[string]any)
	for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if value := wanted[field]; !isEmpty(value) {
			d.at("metadata", field)
			d.compare(value, existing[field], field, false)
		}
	}
}

// compare compares two values of a field. If exact is true, live must not have additional fields.
func (d *differ) compare(want, live any, field string, exact bool) {
	switch want := want.(type) {
	case nil:
		if exact && live != nil {
			d.differ(want, live)
		}
	case map[string]any:
		existing, ok := live.(map[string]any)
		if !ok {
			d.differ(want, live)
			return
		}
		d.compareMaps(want, existing, field, exact || d.builtIn && isAtomicMap(field))
	case []any:
		existing, ok := live.([]any)
		switch keys := d.keysOf(field, want, exact); {
		case !ok && (len(want) > 0 || live != nil):
			d.differ(want, live)
		case keys != nil:
			d.compareKeyed(want, existing, field, keys)
		default:
			d.compareLists(want, existing, field)
		}
	default:
		if !equal(want, live, field) {
			d.differ(want, live)
		}
	}
}

func (d *differ) compareMaps(want, live map[string]any, field string, exact bool) {
	for name, value := range want {
		d.path = append(d.path, step{field: name})
		if isQuantityMap(field) && sameQuantity(value, live[name]) {
			d.path = d.path[:len(d.path)-1]
			continue
		}
		d.compare(value, live[name], name, exact)
		d.path = d.path[:len(d.path)-1]
	}
	if !exact {
		return
	}
	for name, value := range live {
		if _, ok := want[name]; !ok && !isNothing(value) && !isDefault(name, value) {
			d.path = append(d.path, step{field: name})
			d.differ(nil, value)
			d.path = d.path[:len(d.path)-1]
		}
	}
}

// compareLists compares atomic lists. Their entries have to be equal if defaults are known.
func (d *differ) compareLists(want, live []any, field string) {
	if len(want) != len(live) {
		d.differ(want, live)
		return
	}
	for i := range want {
		d.path = append(d.path, step{index: i})
		d.compare(want[i], live[i], field, d.builtIn)
		d.path = d.path[:len(d.path)-1]
	}
}

// compareKeyed compares lists whose entries are identified by the values of some of their fields.
func (d *differ) compareKeyed(want, live []any, field string, keys []string) {
	last := -1
	for i, entry := range want {
		d.path = append(d.path, step{entry: entry, keys: keys})
		at := i // usually, the order is the same
		if at >= len(live) || !sameKey(entry, live[at], keys) {
			at = slices.IndexFunc(live, func(other any) bool { return sameKey(entry, other, keys) })
		}
		switch {
		case at < 0:
			d.differ(entry, nil)
		case at < last && field == "initContainers":
			d.differ("after the others", "before them") // init containers run sequentially
		default:
			d.compare(entry, live[at], field, false)
		}
		last = max(last, at)
		d.path = d.path[:len(d.path)-1]
	}
}

// equal compares two scalars. Numbers are compared independently of their Go type.
func equal(want, live any, field string) bool {
	if want == live {
		return true
	}
	a, wantNumber := asFloat(want)
	b, liveNumber := asFloat(live)
	if wantNumber && liveNumber {
		return a == b
	}
	return isQuantity(field) && sameQuantity(want, live)
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func sameQuantity(want, live any) bool {
	if want == nil || live == nil {
		return false
	}
	a, errA := resource.ParseQuantity(fmt.Sprint(want))
	b, errB := resource.ParseQuantity(fmt.Sprint(live))
	return errA == nil && errB == nil && a.Cmp(b) == 0
}

// differ records a difference at the current path.
func (d *differ) differ(want, live any) {
	var path strings.Builder
	for i, s := range d.path {
		switch {
		case s.field != "" && i > 0:
			path.WriteString("." + s.field)
		case s.field != "":
			path.WriteString(s.field)
		case s.keys != nil:
			path.WriteString("[" + nameOf(s.entry, s.keys) + "]")
		default:
			fmt.Fprintf(&path, "[%d]", s.index)
		}
	}
	switch {
	case live == nil:
		path.WriteString(": missing")
	case want == nil:
		path.WriteString(": not wanted")
	case d.secret:
		path.WriteString(": differs")
	default:
		fmt.Fprintf(&path, ": %s -> %s", short(live), short(want))
	}
	d.found = append(d.found, path.String())
}

// reasons returns the differences in a deterministic order.
func (d *differ) reasons() []string {
	slices.SortFunc(d.found, cmp.Compare[string])
	return phrase.First(d.found, maxReasons)
}

// short formats a value for a line.
func short(v any) string {
	const most = 60
	var text string
	switch v := v.(type) {
	case string:
		if strings.ContainsAny(v, "\n\t") || v == "" {
			text = fmt.Sprintf("%q", v)
		} else {
			text = v
		}
	case map[string]any:
		return "{...}"
	case []any:
		if len(v) == 0 || isComposed(v[0]) {
			return fmt.Sprintf("[%d entries]", len(v))
		}
		text = fmt.Sprint(v)
	default:
		text = fmt.Sprint(v)
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

func isEmpty(v any) bool {
	m, ok := v.(map[string]any)
	return v == nil || ok && len(m) == 0
}

func isComposed(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
