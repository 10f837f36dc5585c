// Package nmstate holds NMState's desired state of a host's network as types, and reads it from YAML or JSON.
//
// Parse is strict: keys that NMState does not know are refused, and every problem is reported at once, with file,
// line and path. It is lenient where NMState is: numbers and booleans may be written as text, a few keys and words
// have a second name, null means unset. A reference to an interface by an alternative name that the document gives it is
// replaced by the interface's own name. What is well-formed may still make no sense; package nmconn finds that.
//
// A pointer or slice that is nil was not written; the distinction matters, because NMState ignores what a
// document does not mention. It is pure.
package nmstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// Document is the desired state of one host's network.
type Document struct {
	Description string       `json:"description,omitempty"`
	Hostname    *Hostname    `json:"hostname,omitempty"`
	DNS         *DNS         `json:"dns-resolver,omitempty"`
	RouteRules  *RouteRules  `json:"route-rules,omitempty"`
	Routes      *Routes      `json:"routes,omitempty"`
	Interfaces  []Interface  `json:"interfaces,omitempty"`
	OVSDB       *OVSDatabase `json:"ovs-db,omitempty"`
	OVN         *OVN         `json:"ovn,omitempty"`

	// Name is the file the document came from; it begins every problem. Empty for a document made in memory.
	Name string `json:"-"`

	lines map[string]int
}

// Hostname is the name of the host. Neither part has a place in a keyfile.
type Hostname struct {
	Running string `json:"running,omitempty"`
	Config  string `json:"config,omitempty"`
}

// OVSDatabase is the configuration of Open vSwitch as a whole. A nil value deletes the key.
type OVSDatabase struct {
	ExternalIDs Pairs `json:"external_ids,omitempty" nm:"alias=external-ids"`
	OtherConfig Pairs `json:"other_config,omitempty" nm:"alias=other-config"`
}

// OVN is what a host tells OVN about its bridges.
type OVN struct {
	BridgeMappings []BridgeMapping `json:"bridge-mappings,omitempty"`
}

// BridgeMapping names the bridge of a physical network.
type BridgeMapping struct {
	Localnet string `json:"localnet" nm:"required"`
	State    string `json:"state,omitempty" nm:"words=present|absent"`
	Bridge   string `json:"bridge,omitempty"`
}

// Limits of what Parse reads. A document for one host is a few kilobytes; these stop the hostile ones.
const (
	// MaxSize is the largest document in bytes: what fits in a Secret.
	MaxSize = 1 << 20
	// maxNodes bounds the values of a document with its aliases expanded.
	maxNodes = 200_000
)

// Parse reads one document. name is used in problems only. The document is nil exactly if a problem is an error;
// there may be warnings beside a document. An empty text is a document that asks for nothing.
func Parse(name string, data []byte) (*Document, Problems) {
	node, problems := Root(name, data)
	if problems != nil {
		return nil, problems
	}
	return Decode(name, node)
}

// Decode is Parse for a value that is read already; nil is a document that asks for nothing.
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

// Root returns the single value in data, unread; nil if there is none.
func Root(name string, data []byte) (*yaml.Node, Problems) {
	if len(data) > MaxSize {
		return nil, Problems{{File: name, Message: "larger than 1 MiB; a document describes one host"}}
	}
	// Text copied from a web page has no-break spaces as its indentation; NMState's command reads them as spaces.
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

// Line returns the line on which the value at a path was written, or the line of the closest value around it;
// 0 if the document was not parsed.
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
