package crdcheck

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/cluster-network-operator/cno/internal/suggest"
)

// Lines maps field paths of a YAML document to lines. The zero value is that of a document that cannot be decoded.
type Lines struct{ root *yaml.Node }

// ReadLines decodes a document once, for any number of paths.
func ReadLines(document []byte) Lines {
	var node yaml.Node
	if yaml.Unmarshal(document, &node) != nil || len(node.Content) == 0 {
		return Lines{}
	}
	return Lines{node.Content[0]}
}

// Of returns the line of the field at a path, or of its closest existing parent; 0 if the document cannot be decoded.
func (l Lines) Of(path string) int {
	if l.root == nil {
		return 0
	}
	at, line := l.root, 0
	for _, step := range ParsePath(path) {
		for at.Kind == yaml.AliasNode {
			at = at.Alias
		}
		key, value := child(at, step)
		if value == nil {
			break
		}
		at, line = value, key.Line
	}
	if line == 0 {
		line = l.root.Line
	}
	return line
}

// child returns the member of a mapping or sequence, and the node that has its line.
func child(n *yaml.Node, step string) (key, value *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i], n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	}
	return nil, nil
}

// suggestion returns a hint for an unknown field: the closest known field, or all known fields; empty if there are none.
func (c *Checker) suggestion(path string) string {
	steps := ParsePath(path)
	at := c.structural
	for _, step := range steps[:max(0, len(steps)-1)] {
		if at = member(at, step); at == nil {
			return ""
		}
	}
	known := slices.Sorted(maps.Keys(at.Properties))
	// Short words differ from many others by two letters: from is not a suggestion for foo.
	word, limit := steps[len(steps)-1], 2
	if len(word) < 4 {
		limit = 1
	}
	if best, ok := suggest.Closest(word, known, limit); ok {
		return "; did you mean " + best + "?"
	}
	if len(known) == 0 {
		return ""
	}
	return "; known fields are " + strings.Join(known, ", ")
}

func member(s *schema.Structural, step string) *schema.Structural {
	if p, ok := s.Properties[step]; ok {
		return &p
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		return s.AdditionalProperties.Structural
	}
	return s.Items
}
