package template

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// first are the keys that come first, in their order; all others follow in alphabetical order.
var first = [...]string{"name", "type", "state", "capture", "desiredState", "interfaces", "destination", "next-hop-interface", "next-hop-address", "enabled", "ip", "prefix-length"}

// encode encodes a tree as YAML. It is deterministic.
func encode(t tree) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	node, err := nodeOf(t)
	if err != nil {
		return nil, err
	}
	if err := enc.Encode(node); err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	return out.Bytes(), enc.Close()
}

func nodeOf(value any) (*yaml.Node, error) {
	switch value := value.(type) {
	case tree:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.SortedFunc(maps.Keys(value), byRank) {
			inner, err := nodeOf(value[key])
			if err != nil {
				return nil, err
			}
			name, err := nodeOf(key)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, name, inner)
		}
		return node, nil
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range value {
			inner, err := nodeOf(item)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, inner)
		}
		return node, nil
	}
	switch value := value.(type) {
	case string:
		// The encoder quotes texts that would be decoded as another type.
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(value)}, nil
	case int64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(value, 10)}, nil
	}
	node := &yaml.Node{}
	if err := node.Encode(value); err != nil {
		return nil, fmt.Errorf("encode %v: %w", value, err)
	}
	return node, nil
}

func byRank(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) }

func rank(key string) int {
	if i := slices.Index(first[:], key); i >= 0 {
		return i
	}
	return len(first)
}
