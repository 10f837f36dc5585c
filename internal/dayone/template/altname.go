package template

import (
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// byName returns a document with references to alternative names replaced by names of interfaces. It returns a document without alternative names, or one that
// cannot be parsed, unchanged; the latter is reported elsewhere.
func byName(document tree) tree {
	named := slices.ContainsFunc(list(document["interfaces"]), func(item any) bool {
		i, ok := item.(tree)
		return ok && len(list(i["alt-names"])) > 0
	})
	if !named {
		return document
	}
	content, err := encode(document)
	if err != nil {
		return document
	}
	doc, _ := nmstate.Parse("", content)
	if doc == nil {
		return document
	}
	var out tree
	if content, err = doc.YAML(); err != nil || yaml.Unmarshal(content, &out) != nil {
		return document
	}
	return out
}
