package preboot

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// policyProblems reports captures and templates, which refer to the live host. It runs before the document is decoded, because the decoder would only report
// that a template is not a valid address or name. A document without a value has no such problems.
func policyProblems(name string, top *yaml.Node) nmstate.Problems {
	if top == nil {
		return nil
	}
	w := walker{name: name}
	isPolicy := false
	for i := 0; top.Kind == yaml.MappingNode && i+1 < len(top.Content); i += 2 {
		key := top.Content[i]
		switch key.Value {
		case "capture":
			isPolicy = true
			w.add(key.Line, "capture", "captures the state of the live host, and "+noHost)
		case "desired", "desiredState":
			isPolicy = true
			if !hasKey(top, "capture") {
				w.add(key.Line, key.Value, "is the form of a document with captures; before the boot write what is in it at the top")
			}
		}
	}
	w.walk(top, "", isPolicy)
	return w.problems.Sorted()
}

func hasKey(m *yaml.Node, name string) bool {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return true
		}
	}
	return false
}

type walker struct {
	name     string
	problems nmstate.Problems
}

func (w *walker) add(line int, path, message string) {
	w.problems = append(w.problems, nmstate.Problem{File: w.name, Line: line, Path: path, Message: message})
}

// walk reports templates and, in a document with captures, Open vSwitch settings, so that all reasons are reported at once. It does not follow aliases, whose
// targets it finds anyway.
func (w *walker) walk(n *yaml.Node, path string, isPolicy bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			at := strings.TrimPrefix(path+"."+key.Value, ".")
			if isPolicy && key.Value == "type" && isOVS(value.Value) {
				w.add(value.Line, at, "is "+value.Value+": "+noOVS)
			}
			if at != "capture" {
				w.walk(value, at, isPolicy)
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			w.walk(item, fmt.Sprintf("%s[%d]", path, i), isPolicy)
		}
	case yaml.ScalarNode:
		if strings.Contains(n.Value, "{{") && strings.Contains(n.Value, "capture.") {
			w.add(n.Line, path, fmt.Sprintf("%q is taken from the live host, and %s", n.Value, noHost))
		}
	}
}
