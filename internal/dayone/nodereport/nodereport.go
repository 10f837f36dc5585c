// Package nodereport is what a node says about its document, on the way from the node to the operator: a ConfigMap a
// node, written by the courier on it.
//
// It is pure.
package nodereport

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Where reports are.
const (
	// Namespace holds the couriers, what they bring, and what they report.
	Namespace = "openshift-host-network"
	// Label marks the ConfigMaps of reports. Its value is empty.
	Label = "networkoperator.openshift.io/host-network-report"
	// Key is the key of the report in its ConfigMap.
	Key = "report.json"
)

// longestName is what the API server lets the name of an object be.
const longestName = 253

// Report is what a node says.
type Report struct {
	// Node is the name of the Node object.
	Node string `json:"node"`
	// Result is the word of the program that applies documents: applied, unchanged, nothing, rolled-back, refused or
	// broken. Empty if it has not run yet.
	Result string `json:"result,omitempty"`
	// File is the document that was applied, and SHA256 its digest in hexadecimal. Both are empty in automatic mode.
	File   string `json:"file,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Message is a sentence that says what is wrong.
	Message string `json:"message,omitempty"`
	// Attempt is that of the request which the program answered; 0 if it ran at boot.
	Attempt int32 `json:"attempt,omitempty"`
	// Time is when the program ended.
	Time time.Time `json:"time,omitzero"`
	// Delivery says what keeps the courier from bringing files; empty if nothing does.
	Delivery string `json:"delivery,omitempty"`
	// Withdrawn says that the courier has removed all that was brought, as it was told to.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// Name is the name of the ConfigMap of a node.
func Name(node string) string {
	if name := "report-" + node; len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(node))
	return "report-" + hex.EncodeToString(sum[:])
}

// Encode returns the data of the ConfigMap.
func (r Report) Encode() (map[string]string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode report of node %s: %w", r.Node, err)
	}
	return map[string]string{Key: string(text)}, nil
}

// Decode reads the data of a ConfigMap. A report that does not say whose it is, or is in the ConfigMap of another node, is an error.
func Decode(name string, data map[string]string) (Report, error) {
	var r Report
	if err := json.Unmarshal([]byte(data[Key]), &r); err != nil {
		return Report{}, fmt.Errorf("decode report %s: %w", name, err)
	}
	if r.Node == "" || Name(r.Node) != name {
		return Report{}, fmt.Errorf("decode report %s: it is about node %q", name, r.Node)
	}
	return r, nil
}

// FromHost reads the file in which the program on the host reports its last run. An empty text is a program that has
// not run.
func FromHost(node string, content []byte) (Report, error) {
	r := Report{Node: node}
	if len(content) == 0 {
		return r, nil
	}
	var said struct {
		Result  string    `json:"result"`
		Message string    `json:"message"`
		Attempt int32     `json:"attempt"`
		Time    time.Time `json:"time"`
		Source  struct {
			File      string `json:"file"`
			SHA256    string `json:"sha256"`
			Automatic bool   `json:"automatic"`
		} `json:"source"`
	}
	if err := json.Unmarshal(content, &said); err != nil {
		return Report{}, fmt.Errorf("decode report of the host: %w", err)
	}
	r.Result, r.Message, r.Attempt, r.Time = said.Result, said.Message, said.Attempt, said.Time
	if !said.Source.Automatic {
		r.File, r.SHA256 = said.Source.File, said.Source.SHA256
	}
	return r, nil
}
