package template

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/suggest"
)

// reference matches ${name}, ${name.ip}, ${name.prefix}, and $${, which is a literal ${.
var reference = regexp.MustCompile(`\$\$\{|\$\{([^{}]*)\}`)

// valueName matches valid names of values.
var valueName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// hostValue is the value that every host has: its short name.
const hostValue = "host"

// values are the values of references by name.
type values map[string]string

// over returns the values overridden by others.
func (v values) over(others map[string]string) values {
	all := maps.Clone(v)
	if all == nil {
		all = values{}
	}
	maps.Copy(all, others)
	return all
}

// lookup returns the value of a reference; ok is false if no value has its name.
func (v values) lookup(name string) (text string, ok bool, err error) {
	base, part, hasPart := strings.Cut(name, ".")
	text, ok = v[base]
	if !ok || !hasPart {
		return text, ok, nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return "", true, fmt.Errorf("${%s}: the value %q has no parts; write an address and a prefix, for example 192.0.2.10/24", name, text)
	}
	switch part {
	case "ip":
		return prefix.Addr().String(), true, nil
	case "prefix":
		return strconv.Itoa(prefix.Bits()), true, nil
	}
	return "", true, fmt.Errorf("${%s}: a value has the parts ip and prefix", name)
}

// expansion replaces references in trees, and collects errors.
type expansion struct {
	values values
	errs   field.ErrorList
	// missing are the names of references without a value, with the path of the first.
	missing map[string]*field.Path
}

// tree returns a copy of a decoded JSON value with all references in its texts replaced, except in keys.
func (e *expansion) tree(at *field.Path, node any) any {
	switch node := node.(type) {
	case string:
		return e.text(at, node)
	case []any:
		out := make([]any, len(node))
		for i, item := range node {
			out[i] = e.tree(at.Index(i), item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(node))
		for _, key := range slices.Sorted(maps.Keys(node)) {
			out[key] = e.tree(at.Child(key), node[key])
		}
		return out
	}
	return node
}

func (e *expansion) text(at *field.Path, text string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		if ref == "$${" {
			return "${"
		}
		name := strings.TrimSuffix(strings.TrimPrefix(ref, "${"), "}")
		value, ok, err := e.values.lookup(name)
		switch {
		case err != nil:
			e.errs = append(e.errs, field.Invalid(at, text, err.Error()))
		case !ok:
			if e.missing == nil {
				e.missing = map[string]*field.Path{}
			}
			if _, known := e.missing[name]; !known {
				e.missing[name] = at
			}
		}
		return value
	})
}

// missingValues returns an error for each reference without a value.
func (e *expansion) missingValues(whose string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(e.missing)) {
		detail := fmt.Sprintf("%s has no value for it; add one to values, or write $${ for a plain ${", whose)
		if near, ok := suggest.Closest(name, slices.Sorted(maps.Keys(e.values)), 2); ok {
			detail = fmt.Sprintf("%s has no value for it; did you mean ${%s}?", whose, near)
		}
		errs = append(errs, field.Invalid(e.missing[name], "${"+name+"}", detail))
	}
	return errs
}

func checkValueNames(at *field.Path, all map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case !valueName.MatchString(name):
			errs = append(errs, field.Invalid(at.Key(name), name, "is not a name; begin with a letter, and use letters, digits, - and _"))
		case name == hostValue:
			errs = append(errs, field.Invalid(at.Key(name), name, "is the short name of the host, which cannot be set"))
		}
	}
	return errs
}
