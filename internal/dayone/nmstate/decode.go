package nmstate

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder decodes YAML nodes to Go values, and collects problems.
type decoder struct {
	name     string
	lines    map[string]int
	problems Problems
	nodes    int
}

func (d *decoder) errorf(n *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.name, Line: n.Line, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) warnf(n *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.name, Line: n.Line, Path: path, Message: fmt.Sprintf(format, args...), Warning: true})
}

// decodeInto decodes a node to the value that target points to.
func (d *decoder) decodeInto(n *yaml.Node, path string, target any) {
	d.value(n, path, reflect.ValueOf(target).Elem(), tag{})
}

// value decodes a node to v. Null leaves v unset.
func (d *decoder) value(n *yaml.Node, path string, v reflect.Value, t tag) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	// The limit prevents the expansion of aliases to a large document. Report it once.
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.errorf(n, path, "more than %d values; a document describes one host", maxNodes)
		}
		return
	}
	d.lines[path] = n.Line
	if isNull(n) || t.skip {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	switch {
	case v.CanAddr() && isText(v.Addr().Interface()):
		d.text(n, path, v.Addr().Interface().(encoding.TextUnmarshaler))
	case v.Kind() == reflect.Struct:
		d.object(n, path, v)
	case v.Kind() == reflect.Slice:
		d.list(n, path, v, t)
	case v.Kind() == reflect.Map:
		d.mapping(n, path, v)
	default:
		d.scalar(n, path, v, t)
	}
}

// list reads a sequence. An empty one is not nil.
func (d *decoder) list(n *yaml.Node, path string, v reflect.Value, t tag) {
	if n.Kind != yaml.SequenceNode {
		d.errorf(n, path, "is %s; a list is wanted", describe(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, e := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if isNull(e) {
			d.errorf(e, at, "is empty; write an entry or remove the dash")
			continue
		}
		d.value(e, at, out.Index(i), tag{words: t.words, numbered: t.numbered})
	}
	v.Set(out)
}

// mapping reads an object whose keys are free.
func (d *decoder) mapping(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.errorf(n, path, "is %s; keys with values are wanted", describe(n))
		return
	}
	out := reflect.MakeMap(v.Type())
	d.keys(n, path, func(key string, value *yaml.Node) {
		e := reflect.New(v.Type().Elem()).Elem()
		if e.Kind() == reflect.Pointer {
			d.anyScalar(value, join(path, key), e)
		} else {
			d.value(value, join(path, key), e, tag{})
		}
		out.SetMapIndex(reflect.ValueOf(key), e)
	})
	v.Set(out)
}

// keys calls f for each key of a mapping, and refuses duplicate keys.
func (d *decoder) keys(n *yaml.Node, path string, f func(key string, value *yaml.Node)) {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			d.errorf(k, path, "has a merge key (<<), which NMState does not read; write the keys out")
			continue
		}
		if k.Kind != yaml.ScalarNode {
			d.errorf(k, path, "has a key that is not text")
			continue
		}
		if line, twice := seen[k.Value]; twice {
			d.errorf(k, join(path, k.Value), "is written twice, first on line %d", line)
			continue
		}
		seen[k.Value] = k.Line
		f(k.Value, v)
	}
}

func isText(v any) bool {
	_, ok := v.(encoding.TextUnmarshaler)
	return ok
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// describe describes a node of an unexpected type.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", strings.TrimSpace(n.Value))
}
