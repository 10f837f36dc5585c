package placement

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func read(file File) (*nmstate.Document, nmstate.Problems) {
	if IsPolicy(file.Content) {
		return nil, nil
	}
	return nmstate.Parse(file.Name, file.Content)
}

// IsPolicy reports whether a document is of the form that finds things out on the host: captures, and the state that is
// wanted of what they find.
func IsPolicy(content []byte) bool {
	// Most documents need no second reading to know that they are not.
	if !bytes.Contains(content, []byte("capture")) && !bytes.Contains(content, []byte("desired")) {
		return false
	}
	var top map[string]yaml.Node
	if yaml.Unmarshal(content, &top) != nil {
		return false
	}
	_, capture := top["capture"]
	_, desired := top["desiredState"]
	if !desired {
		_, desired = top["desired"]
	}
	return capture || desired
}
