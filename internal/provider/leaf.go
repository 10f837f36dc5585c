package provider

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Form is the text format of the value of a field, with which the operator and an admission policy, which can compare only
// texts, write the same text.
type Form string

const (
	// Single is a text, a number or a boolean.
	Single Form = "single"
	// List is a list of single values, separated by commas.
	List Form = "list"
	// Rows is a list of objects, separated by commas: the values of their fields (Leaf.Columns), separated by spaces.
	Rows Form = "rows"
	// Lists is a map of names to lists: sorted lines with a name, "=" and its values, separated by commas.
	Lists Form = "lists"
	// Opaque is any other value. It has no text.
	Opaque Form = "opaque"
)

// Leaf is a field of the specification that is compared as a whole: it has no subfields except those of the elements of a
// list.
type Leaf struct {
	// Path is the path of the field, without indexes, from "spec".
	Path string
	Form Form
	// Columns are the names of the fields of a row; nil for other forms.
	Columns []string
}

// Cleared returns a copy of a specification without a value of the field. A key of a map is not changed.
func (l Leaf) Cleared(spec *operatorv1.NetworkSpec) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	if out != nil {
		clearField(reflect.ValueOf(out).Elem(), strings.Split(l.Path, ".")[1:])
	}
	return out
}

func clearField(v reflect.Value, names []string) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		switch name := jsonName(v.Type().Field(i)); {
		case name == "":
			clearField(v.Field(i), names)
		case name != names[0]:
		case len(names) == 1:
			v.Field(i).SetZero()
		default:
			clearField(v.Field(i), names[1:])
		}
	}
}

// LeavesOf returns the leaves of the specification of another kind, whose Go type is T.
func LeavesOf[T any]() []Leaf { return leavesOf("spec", reflect.TypeFor[T]()) }

// LeavesBelow returns the leaves of the specification at and below a path, in the order of the API types. Their names and
// forms come from the Go types, so that new fields are included. A path that does not exist has none, but that of a key of
// a map is a leaf of the form List.
func LeavesBelow(path string) []Leaf {
	var found []Leaf
	for _, l := range allLeaves {
		switch {
		case Within(l.Path, path):
			found = append(found, l)
		case l.Form == Lists && Within(path, l.Path):
			found = append(found, Leaf{Path: path, Form: List})
		}
	}
	return found
}

// allLeaves are the leaves of the specification. They must not be changed.
var allLeaves = leavesOf("spec", reflect.TypeFor[operatorv1.NetworkSpec]())

func leavesOf(path string, t reflect.Type) []Leaf {
	if t = pointed(t); t.Kind() != reflect.Struct || marshals(t) {
		form, columns := formOf(t)
		return []Leaf{{Path: path, Form: form, Columns: columns}}
	}
	var all []Leaf
	for i := range t.NumField() {
		f := t.Field(i)
		switch name := jsonName(f); name {
		case "-":
		case "":
			all = append(all, leavesOf(path, f.Type)...)
		default:
			all = append(all, leavesOf(path+"."+name, f.Type)...)
		}
	}
	return all
}

// pointed returns a type without pointers.
func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// marshals reports whether a type has its own JSON encoding.
func marshals(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}

// jsonName returns the name of a field in JSON: "-" if it has none, "" if it is inlined.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func formOf(t reflect.Type) (Form, []string) {
	switch {
	case marshals(t):
		return Opaque, nil
	case single(t):
		return Single, nil
	case t.Kind() == reflect.Slice && single(t.Elem()):
		return List, nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && !marshals(t.Elem()):
		return columnsOf(t.Elem())
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && lists(t.Elem()):
		return Lists, nil
	}
	return Opaque, nil
}

func columnsOf(row reflect.Type) (Form, []string) {
	var columns []string
	for i := range row.NumField() {
		f := row.Field(i)
		name := jsonName(f)
		if name == "" || !single(pointed(f.Type)) {
			return Opaque, nil
		}
		columns = append(columns, name)
	}
	return Rows, columns
}

func lists(t reflect.Type) bool { return t.Kind() == reflect.Slice && single(t.Elem()) }

func single(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return !marshals(t)
	}
	return false
}

// Values are the values of a specification as decoded JSON. The zero value has none.
type Values struct{ spec any }

// ValuesOf returns the values of a specification; nil has none.
func ValuesOf(spec *operatorv1.NetworkSpec) Values {
	raw, err := json.Marshal(spec)
	if err != nil {
		return Values{}
	}
	var v Values
	if err := json.Unmarshal(raw, &v.spec); err != nil {
		return Values{}
	}
	return v
}

// value returns the value of a field by its path without indexes; nil if there is none.
func (v Values) value(path string) any {
	at := v.spec
	for _, name := range strings.Split(path, ".")[1:] {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[name]
	}
	return at
}

// Text returns the text of the field in values, in its form; "" if there is none.
func (l Leaf) Text(v Values) string {
	value := v.value(l.Path)
	switch l.Form {
	case Single:
		return text(value)
	case List:
		return list(value, text)
	case Rows:
		return list(value, l.row)
	case Lists:
		return lines(value)
	}
	return ""
}

func (l Leaf) row(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return ""
	}
	columns := make([]string, len(l.Columns))
	for i, name := range l.Columns {
		columns[i] = text(object[name])
	}
	return strings.Join(columns, " ")
}

func lines(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return ""
	}
	all := make([]string, 0, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		all = append(all, name+"="+list(object[name], text))
	}
	return strings.Join(all, "\n")
}

func list(value any, text func(any) string) string {
	values, ok := value.([]any)
	if !ok {
		return ""
	}
	all := make([]string, len(values))
	for i, one := range values {
		all[i] = text(one)
	}
	return strings.Join(all, ",")
}

func text(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(value)
	}
	return ""
}
