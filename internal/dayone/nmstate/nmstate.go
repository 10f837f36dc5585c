// Package nmstate has the types of NMState's desired state of a host's network, and parses it from YAML or JSON.
//
// Parse is strict: it refuses keys that NMState does not support, and reports all problems at once, with file, line and path. It is as lenient as NMState:
// numbers and booleans may be text, some keys and values have a second name, and null means unset. It replaces references to alternative names in the
// document by the names of the interfaces. Package nmconn checks the consistency of a document.
//
// A nil pointer or slice means that the key is not set; the distinction matters, because NMState keeps settings that a document does not set. The package is
// pure.
package nmstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// Document is the desired state of a host's network.
type Document struct {
	Description string       `json:"description,omitempty"`
	Hostname    *Hostname    `json:"hostname,omitempty"`
	DNS         *DNS         `json:"dns-resolver,omitempty"`
	RouteRules  *RouteRules  `json:"route-rules,omitempty"`
	Routes      *Routes      `json:"routes,omitempty"`
	Interfaces  []Interface  `json:"interfaces,omitempty"`
	OVSDB       *OVSDatabase `json:"ovs-db,omitempty"`
	OVN         *OVN         `json:"ovn,omitempty"`

	// Name is the file of the document, which is part of problems; empty for a document in memory.
	Name string `json:"-"`

	lines map[string]int
}

// Hostname is the name of the host. Keyfiles cannot contain it.
type Hostname struct {
	Running string `json:"running,omitempty"`
	Config  string `json:"config,omitempty"`
}

// OVSDatabase is the configuration of Open vSwitch as a whole. A nil value deletes the key.
type OVSDatabase struct {
	ExternalIDs Pairs `json:"external_ids,omitempty" nm:"alias=external-ids"`
	OtherConfig Pairs `json:"other_config,omitempty" nm:"alias=other-config"`
}

// OVN is the configuration of OVN.
type OVN struct {
	BridgeMappings []BridgeMapping `json:"bridge-mappings,omitempty"`
}

// BridgeMapping maps a physical network to a bridge.
type BridgeMapping struct {
	Localnet string `json:"localnet" nm:"required"`
	State    string `json:"state,omitempty" nm:"words=present|absent"`
	Bridge   string `json:"bridge,omitempty"`
}

// Limits of Parse against hostile documents. A document of a host has a few kilobytes.
const (
	// MaxSize is the maximum size of a document in bytes, which is that of a Secret.
	MaxSize = 1 << 20
	// maxNodes is the maximum number of values of a document with its aliases expanded.
	maxNodes = 200_000
)

// Parse parses a document. name is only used in problems. The document is nil exactly if a problem is an error; it may have warnings. An empty text is an empty
// document.
func Parse(name string, data []byte) (*Document, Problems) {
	node, problems := Root(name, data)
	if problems != nil {
		return nil, problems
	}
	return Decode(name, node)
}

// Decode is Parse for a parsed value; nil is an empty document.
func Decode(name string, node *yaml.Node) (*Document, Problems) {
	doc := &Document{Name: name, lines: map[string]int{}}
	d := &decoder{name: name, lines: doc.lines}
	if node != nil {
		d.decodeInto(node, "", doc)
	}
	if d.problems.HasErrors() {
		return nil, d.problems.Sorted()
	}
	resolved, wrong := doc.resolveAltNames()
	d.problems = append(d.problems, wrong...)
	if d.problems.HasErrors() {
		return nil, d.problems.Sorted()
	}
	return resolved, d.problems.Sorted()
}

// Root returns the single YAML value in data; nil if there is none.
func Root(name string, data []byte) (*yaml.Node, Problems) {
	if len(data) > MaxSize {
		return nil, Problems{{File: name, Message: "larger than 1 MiB; a document describes one host"}}
	}
	// Text from a web page may have no-break spaces as indentation; NMState treats them as spaces.
	data = bytes.ReplaceAll(data, []byte("\u00a0"), []byte(" "))
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, Problems{syntaxProblem(name, err)}
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, Problems{{File: name, Line: more.Line, Message: "a second YAML document; write one document a file"}}
	case !errors.Is(err, io.EOF):
		return nil, Problems{syntaxProblem(name, err)}
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return nil, nil
	}
	return doc.Content[0], nil
}

// Line returns the line of the value at a path, or that of the closest parent; 0 if the document was not parsed.
func (d *Document) Line(path string) int {
	for {
		if line, ok := d.lines[path]; ok || path == "" {
			return line
		}
		path = parent(path)
	}
}

// YAML returns the document in NMState's YAML, with keys in alphabetical order.
func (d *Document) YAML() ([]byte, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}
