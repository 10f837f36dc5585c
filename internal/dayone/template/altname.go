package template

import (
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// byName returns a document that refers to interfaces by their names, for what moves settings between interfaces. A document without
// alternative names, and one that cannot be read, which is reported where it is used, is returned as it is.
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
