package validation

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/policy"
)

// read parses a file like NMState. The document is nil if it is invalid, which is a problem, or if it has captures, which is none.
func read(file placement.File, withoutBridge bool) (*nmstate.Document, nmstate.Problems) {
	if len(bytes.TrimSpace(file.Content)) == 0 {
		return nil, nmstate.Problems{{File: file.Name, Message: "is empty; write the configuration into it, or remove it so that " + placement.ClusterFile + " counts"}}
	}
	if !isPolicy(file.Content) {
		return nmstate.Parse(file.Name, file.Content)
	}
	p, problems := policy.Parse(file.Name, file.Content)
	if p == nil {
		return nil, problems
	}
	if p.NeedsHost() {
		if !withoutBridge {
			problems = append(problems, checkPolicy(file)...)
		}
		return nil, problems
	}
	doc, more := p.Fill(nil)
	return doc, append(problems, more...)
}

// isPolicy reports whether a document has the form with captures and a desired state.
func isPolicy(content []byte) bool {
	// Avoid parsing most documents twice.
	if !bytes.Contains(content, []byte("capture")) && !bytes.Contains(content, []byte("desired")) {
		return false
	}
	var top map[string]yaml.Node
	if yaml.Unmarshal(content, &top) != nil {
		return false
	}
	for _, key := range []string{"capture", "desiredState", "desired"} {
		if _, ok := top[key]; ok {
			return true
		}
	}
	return false
}

// checkPolicy checks the part of a policy that does not depend on the host: whether it defines br-ex.
func checkPolicy(file placement.File) nmstate.Problems {
	var top map[string]yaml.Node
	if yaml.Unmarshal(file.Content, &top) != nil {
		return nil // reported by the parser
	}
	for _, key := range []string{"desiredState", "desired"} {
		var state struct {
			Interfaces []struct{ Name, Type, State string }
		}
		node := top[key]
		// Interfaces that are copied from the host are unknown.
		if node.Decode(&state) != nil || slices.ContainsFunc(state.Interfaces, func(i struct{ Name, Type, State string }) bool {
			return i.Name == placement.Bridge && i.Type == string(nmstate.TypeOVSBridge) && i.State != string(nmstate.StateAbsent)
		}) {
			return nil
		}
	}
	return nmstate.Problems{{File: file.Name, Path: "desiredState.interfaces", Message: noBridge}}
}

// checkProfiles returns the problems of a conversion to profiles of NetworkManager. It ignores copy-mac-from, which is resolved on the host.
func checkProfiles(doc *nmstate.Document) nmstate.Problems {
	plain := *doc
	plain.Interfaces = slices.Clone(doc.Interfaces)
	for i := range plain.Interfaces {
		plain.Interfaces[i].CopyMACFrom, plain.Interfaces[i].Dispatch = "", nil
	}
	return nmconn.Check(&plain).Errors()
}
