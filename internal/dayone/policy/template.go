package policy

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// templates replaces the references in a desired state.
type templates struct {
	policy   *Policy
	found    map[string]any
	problems nmstate.Problems
}

var mark = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// fill returns a node with references replaced. Nodes keep their line numbers.
func (t *templates) fill(n *yaml.Node, path string) *yaml.Node {
	switch n.Kind {
	case yaml.ScalarNode:
		return t.scalar(n, path)
	case yaml.AliasNode:
		return n
	}
	out := *n
	out.Content = nil
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			out.Content = append(out.Content, t.fill(c, fmt.Sprintf("%s[%d]", path, i)))
		case i%2 == 0:
			out.Content = append(out.Content, c)
		default:
			out.Content = append(out.Content, t.fill(c, path+"."+n.Content[i-1].Value))
		}
	}
	return &out
}

// scalar replaces the references in a text. A text that is only a reference is replaced by the value itself, which may be a list or an object.
func (t *templates) scalar(n *yaml.Node, path string) *yaml.Node {
	matches := mark.FindAllStringSubmatch(n.Value, -1)
	if matches == nil {
		return n
	}
	if len(matches) == 1 && matches[0][0] == strings.TrimSpace(n.Value) {
		v, ok := t.resolve(n, path, matches[0][1])
		if !ok {
			return n
		}
		return node(v, n.Line)
	}
	out := *n
	out.Value = mark.ReplaceAllStringFunc(n.Value, func(m string) string {
		v, ok := t.resolve(n, path, mark.FindStringSubmatch(m)[1])
		s := text(v)
		if ok && s == "" {
			t.problems = append(t.problems, t.policy.problem(n.Line, path, "has a list or an object inside a text: "+m))
		}
		return s
	})
	return &out
}

func (t *templates) resolve(n *yaml.Node, path, expr string) (any, bool) {
	p, err := parsePath(expr)
	if err == nil && p[0] != "capture" {
		err = fmt.Errorf("refers to %q; a reference begins with capture", expr)
	}
	var v any
	if err == nil {
		v, err = lookup(t.found, p[1:])
	}
	if err != nil {
		t.problems = append(t.problems, t.policy.problem(n.Line, path, err.Error()))
		return nil, false
	}
	return v, true
}

// node returns a node for a value, with a single line number.
func node(v any, line int) *yaml.Node {
	var n yaml.Node
	// Maps, lists and scalars can always be encoded.
	_ = n.Encode(v)
	setLine(&n, line)
	return &n
}

func setLine(n *yaml.Node, line int) {
	n.Line = line
	for _, c := range n.Content {
		setLine(c, line)
	}
}
