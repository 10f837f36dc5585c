// Package nodereport defines the reports of nodes about their documents: a ConfigMap for each node, which host-network-sync writes and the operator reads.
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

// Names of the objects with reports.
const (
	// Namespace is the namespace of the sync agents, of the files that they copy, and of the reports. It has the name of OpenShift's
	// namespace without pods that stands for the nodes' network in NetworkPolicies, and is used as that, too.
	Namespace = "openshift-host-network"
	// Label is the label of the ConfigMaps with reports. Its value is empty.
	Label = "networkoperator.openshift.io/host-network-report"
	// Key is the key of the report in its ConfigMap.
	Key = "report.json"
)

// longestName is the maximum length of an object's name.
const longestName = 253

// Report is the report of a node.
type Report struct {
	// Node is the name of the Node object.
	Node string `json:"node"`
	// Result is the result of host-network: applied, unchanged, nothing, rolled-back, refused or broken. Empty if it has not run yet.
	Result string `json:"result,omitempty"`
	// File is the document that was applied, and SHA256 its digest in hexadecimal. Both are empty in automatic mode.
	File   string `json:"file,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Message is the error message.
	Message string `json:"message,omitempty"`
	// Attempt is the attempt of the request; 0 if host-network ran at boot.
	Attempt int32 `json:"attempt,omitempty"`
	// Time is the time at which host-network ended.
	Time time.Time `json:"time,omitzero"`
	// Delivery is the error of the sync agent when it copies files; empty if there is none.
	Delivery string `json:"delivery,omitempty"`
	// Withdrawn is true if the sync agent has removed all copied files, as requested.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// Name returns the name of the ConfigMap of a node.
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

// Decode decodes the data of a ConfigMap. A report without a node, or in the ConfigMap of another node, is an error.
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

// FromHost decodes the report file of host-network. Empty content means that host-network has not run.
func FromHost(node string, content []byte) (Report, error) {
	r := Report{Node: node}
	if len(content) == 0 {
		return r, nil
	}
	var read struct {
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
	if err := json.Unmarshal(content, &read); err != nil {
		return Report{}, fmt.Errorf("decode report of the host: %w", err)
	}
	r.Result, r.Message, r.Attempt, r.Time = read.Result, read.Message, read.Attempt, read.Time
	if !read.Source.Automatic {
		r.File, r.SHA256 = read.Source.File, read.Source.SHA256
	}
	return r, nil
}
