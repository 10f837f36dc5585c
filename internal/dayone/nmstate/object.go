package nmstate

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/suggest"
)

// tag is the parsed nm tag of a field: required, skip, numbered, words=a|b, alias=a|b, and also=x:a for a second name of a word.
type tag struct {
	required, skip, numbered bool
	words, aliases           []string
	second, meant            string
}

// field is a key of an object.
type field struct {
	key   string
	tag   tag
	index []int
}

// fieldsByType caches the keys of types, since reflection and the parsing of tags would take a sixth of the time.
var fieldsByType sync.Map // reflect.Type to []field, never changed

// fieldsOf returns the keys of a struct. The result is shared.
func fieldsOf(t reflect.Type) []field {
	if f, ok := fieldsByType.Load(t); ok {
		return f.([]field)
	}
	f, _ := fieldsByType.LoadOrStore(t, fields(t))
	return f.([]field)
}

// fields returns the keys of a struct, including those of embedded structs.
func fields(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for _, e := range fields(f.Type) {
				e.index = append([]int{i}, e.index...)
				out = append(out, e)
			}
			continue
		}
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		out = append(out, field{key: key, tag: parseTag(f.Tag.Get("nm")), index: []int{i}})
	}
	return out
}

func parseTag(s string) tag {
	var t tag
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "required":
			t.required = true
		case "skip":
			t.skip = true
		case "numbered":
			t.numbered = true
		case "words":
			t.words = strings.Split(value, "|")
		case "also":
			t.second, t.meant, _ = strings.Cut(value, ":")
		case "alias":
			t.aliases = strings.Split(value, "|")
		}
	}
	return t
}

// object reads a mapping into a struct.
func (d *decoder) object(n *yaml.Node, path string, v reflect.Value) {
	known := fieldsOf(v.Type())
	if s, ok := v.Interface().(interface{ scalarKey() string }); ok && n.Kind == yaml.ScalarNode {
		i := slices.IndexFunc(known, func(f field) bool { return f.key == s.scalarKey() })
		d.value(n, path, v.FieldByIndex(known[i].index), known[i].tag)
		return
	}
	if n.Kind != yaml.MappingNode {
		d.errorf(n, path, "is %s; keys with values are wanted", describe(n))
		return
	}
	iface, isInterface := v.Addr().Interface().(*Interface)
	if isInterface {
		n = d.interfaceNode(n, path, iface)
	}
	written := map[string]bool{}
	d.keys(n, path, func(key string, value *yaml.Node) {
		at := join(path, key)
		if isInterface && key == "bridge" {
			d.bridge(value, at, iface)
			return
		}
		i := slices.IndexFunc(known, func(f field) bool { return key == f.key || slices.Contains(f.tag.aliases, key) })
		if i < 0 {
			d.unknown(n, value, at, key, v, known)
			return
		}
		if written[known[i].key] {
			d.errorf(value, at, "is %s under another name, which is written too", known[i].key)
			return
		}
		written[known[i].key] = !isNull(value)
		d.value(value, at, v.FieldByIndex(known[i].index), known[i].tag)
	})
	if isInterface {
		d.address(path, "mac-address", &iface.MACAddress, MAC, "a MAC address")
		d.address(path, "pci-address", &iface.PCIAddress, PCI, "a PCI address such as 0000:07:00.0")
	}
	for _, f := range known {
		if f.tag.required && !written[f.key] {
			d.errorf(n, join(path, f.key), "is missing")
		}
	}
}

// unknown refuses an unknown key, unless NMState accepts it.
func (d *decoder) unknown(n, value *yaml.Node, at, key string, v reflect.Value, known []field) {
	line := &yaml.Node{Line: keyLine(n, key, value)}
	switch o := v.Interface().(type) {
	case interface{ loose() }:
		return
	case interface{ ignored() map[string]string }:
		if why, ok := o.ignored()[key]; ok {
			d.warnf(line, at, "has no effect: %s", why)
			return
		}
	}
	if _, ok := v.Interface().(Document); ok && (key == "capture" || key == "desiredState") {
		d.errorf(line, at, "is not known: the form with captures needs the running host, and works only at first boot")
		return
	}
	if since, why := newerKey(v.Interface(), key); since != "" {
		d.errorf(line, at, "is known to NMState from %s on, and is not supported here: %s", since, why)
		return
	}
	if i, ok := v.Addr().Interface().(*Interface); ok && i.Type.refused()[textOf(n, "type")] != "" {
		return // the type is refused, and its sections with it
	}
	var keys []string
	for _, f := range known {
		keys = append(keys, f.key)
	}
	if _, ok := v.Interface().(Interface); ok {
		keys = append(keys, "bridge") // read by hand, for two types share it
	}
	if best, ok := suggest.Closest(key, keys, 2); ok {
		d.errorf(line, at, "is not known; was %s meant?", best)
		return
	}
	slices.Sort(keys)
	d.errorf(line, at, "is not known; known are %s", strings.Join(keys, ", "))
}

func keyLine(n *yaml.Node, key string, value *yaml.Node) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i].Line
		}
	}
	return value.Line
}
