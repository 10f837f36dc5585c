// Package policy resolves documents that depend on the live state of a host: captures select parts of it, and the desired state refers to captures, as in
// {{ capture.uplink.interfaces.0.name }}.
//
// The form is NMState's: {capture: {NAME: EXPRESSION}, desiredState: {...}}. Expressions are a path, path == value, path =~ "regular expression",
// path := value, and pipes; capture.NAME.PATH is capture.NAME | PATH. Documents without captures are accepted, too. The package is pure: the live state is a
// value. Lines and paths of problems refer to the original text.
package policy

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Policy is a document that may depend on a live state.
type Policy struct {
	// Name is the file the policy came from.
	Name string

	captures []capture
	desired  *yaml.Node
}

// capture is a named expression.
type capture struct {
	name, path string
	line       int
	expr       expression
}

// Parse parses a policy, or a plain document as a policy without captures. The policy is nil exactly if a problem is an error. Resolve checks the document,
// since the values of templates are unknown here.
func Parse(name string, data []byte) (*Policy, nmstate.Problems) {
	root, problems := nmstate.Root(name, data)
	if problems != nil {
		return nil, problems
	}
	p := &Policy{Name: name, desired: root}
	if root == nil || value(root, "capture") == nil && value(root, "desiredState") == nil && value(root, "desired") == nil {
		return p, nil
	}
	p.desired = nil
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, v := root.Content[i], root.Content[i+1]
		switch key.Value {
		case "capture":
			problems = append(problems, p.readCaptures(v)...)
		case "desiredState", "desired": // NMState takes both
			if p.desired != nil {
				problems = append(problems, p.problem(key.Line, key.Value, "is the same as the other of desiredState and desired; write one of them"))
			}
			p.desired = v
		default:
			problems = append(problems, p.problem(key.Line, key.Value, "is not a known key; only capture and desiredState are. Move it into desiredState"))
		}
	}
	if problems == nil {
		problems = p.sort()
	}
	if problems.HasErrors() {
		return nil, problems
	}
	return p, nil
}

// NeedsHost reports whether the policy has captures, which need a live state.
func (p *Policy) NeedsHost() bool { return len(p.captures) > 0 }

// Found is the result of a capture on a host.
type Found struct {
	Name string `json:"name"`
	// Value is a part of a state; nil if the capture matches nothing.
	Value any `json:"value"`
}

// Captures returns the results of the captures in a state, each after those that it refers to. Without captures, the state is not used.
func (p *Policy) Captures(state State) ([]Found, nmstate.Problems) {
	if p.NeedsHost() && state.tree == nil {
		return nil, nmstate.Problems{p.problem(0, "", "cannot be resolved: there are captures, and no live state to evaluate them on")}
	}
	var out []Found
	var problems nmstate.Problems
	found := map[string]any{}
	for _, c := range p.captures {
		v, err := c.expr.eval(state.tree, found)
		if err != nil {
			problems = append(problems, p.problem(c.line, c.path, err.Error()))
			continue
		}
		found[c.name] = v
		out = append(out, Found{Name: c.name, Value: v})
	}
	return out, problems
}

// Fill returns the document of the policy with the results of its captures. The document is nil exactly if a problem is an error.
func (p *Policy) Fill(captures []Found) (*nmstate.Document, nmstate.Problems) {
	if p.desired == nil {
		return nmstate.Decode(p.Name, nil)
	}
	found := map[string]any{}
	for _, c := range captures {
		found[c.Name] = c.Value
	}
	t := templates{policy: p, found: found}
	node := t.fill(p.desired, "desiredState")
	if t.problems != nil {
		return nil, t.problems
	}
	return nmstate.Decode(p.Name, node)
}

// Resolve is Captures and Fill.
func (p *Policy) Resolve(state State) (*nmstate.Document, nmstate.Problems) {
	captures, problems := p.Captures(state)
	if problems != nil {
		return nil, problems
	}
	return p.Fill(captures)
}

func (p *Policy) readCaptures(n *yaml.Node) (problems nmstate.Problems) {
	if n.Kind != yaml.MappingNode {
		return nmstate.Problems{p.problem(n.Line, "capture", "is not an object of names and expressions")}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		c := capture{name: key.Value, path: "capture." + key.Value, line: v.Line}
		var err error
		switch {
		case v.Kind != yaml.ScalarNode:
			problems = append(problems, p.problem(v.Line, c.path, "is not an expression"))
			continue
		case slices.ContainsFunc(p.captures, func(o capture) bool { return o.name == c.name }):
			problems = append(problems, p.problem(key.Line, c.path, "is written twice"))
			continue
		}
		if c.expr, err = parseExpression(v.Value); err != nil {
			problems = append(problems, p.problem(v.Line, c.path, err.Error()))
			continue
		}
		p.captures = append(p.captures, c)
	}
	return problems
}

// sort sorts captures after those that they refer to.
func (p *Policy) sort() (problems nmstate.Problems) {
	var sorted []capture
	done := map[string]bool{}
	for rest := p.captures; len(rest) > 0; {
		var later []capture
		for _, c := range rest {
			if slices.ContainsFunc(c.expr.captures(), func(name string) bool { return !done[name] }) {
				later = append(later, c)
				continue
			}
			sorted, done[c.name] = append(sorted, c), true
		}
		if len(later) == len(rest) {
			for _, c := range later {
				problems = append(problems, p.problem(c.line, c.path, "refers to a capture that does not exist, or that refers back to it"))
			}
			return problems
		}
		rest = later
	}
	p.captures = sorted
	return nil
}

func (p *Policy) problem(line int, path, message string) nmstate.Problem {
	return nmstate.Problem{File: p.Name, Line: line, Path: path, Message: message}
}

// value returns the value of a key of an object; nil if there is none.
func value(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}
