package metal

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// origin is the position of a document in a larger file. The zero value means a separate file.
type origin struct {
	path string
	node *yaml.Node
}

// Locate converts the positions of problems of the host's document to positions in its original file.
func (h Host) Locate(problems nmstate.Problems) nmstate.Problems {
	if h.origin.node == nil {
		return problems
	}
	var out nmstate.Problems
	for _, p := range problems {
		p.File, p.Line = h.File, lineOf(h.origin.node, p.Path)
		p.Path = strings.TrimSuffix(h.origin.path+"."+p.Path, ".")
		out = append(out, p)
	}
	return out.Sorted()
}

// lineOf returns the line of the value at a path such as interfaces[0].ipv4, or of the closest one around it.
func lineOf(node *yaml.Node, path string) int {
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := follow(node, step)
		if next == nil {
			break
		}
		node = next
	}
	return node.Line
}

// follow returns the value of a key or at an index; nil if there is none.
func follow(node *yaml.Node, step string) *yaml.Node {
	if node.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i]
		}
		return nil
	}
	return child(node, step)
}

// child returns the value below keys, through aliases; nil if there is none.
func child(node *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		for node.Kind == yaml.DocumentNode && len(node.Content) > 0 || node.Kind == yaml.AliasNode {
			if node.Kind == yaml.AliasNode {
				node = node.Alias
				continue
			}
			node = node.Content[0]
		}
		if node.Kind != yaml.MappingNode {
			return nil
		}
		var found *yaml.Node
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				found = node.Content[i+1]
			}
		}
		if found == nil {
			return nil
		}
		node = found
	}
	return node
}
