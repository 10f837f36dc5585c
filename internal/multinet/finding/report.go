package finding

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Annotation has the report of a node. The node's daemon of further networks sets it on its own pod, whose annotations no other node can write.
const Annotation = "networkoperator.openshift.io/further-networks"

const (
	// Namespace is the namespace of Multus, and of the pods that report.
	Namespace = "openshift-multus"
	// App is the value of the label app of these pods.
	App = "multus"
)

// Any counts, in Report.Instances, pods with a further network of any type.
const Any = "any"

// maxNames bounds the names of each kind in a report, maxReport its size in bytes.
const (
	maxNames  = 256
	maxReport = 64 << 10
)

// Report is the report of a node's daemon. The names come from definitions, which tenants may write.
type Report struct {
	// Plugins and Interfaces are the CNI plugins and interfaces that definitions name and that are missing on the node.
	Plugins    []string `json:"missingPlugins,omitempty"`
	Interfaces []string `json:"missingInterfaces,omitempty"`
	// Instances are the node's pods with further networks, by the type of their networks' first plugin, and Any.
	Instances map[string]int `json:"instances,omitempty"`
}

// Node is a node that has reported.
type Node struct {
	Name string
	Report
}

// NewReport returns the report of a node for all definitions of the cluster. has reports whether the node has a plugin.
func NewReport(definitions []Checked, has func(plugin string) bool, interfaces []string) Report {
	var r Report
	for _, d := range definitions {
		for _, p := range d.Plugins {
			if !slices.Contains(r.Plugins, p) && len(r.Plugins) < maxNames && !has(p) {
				r.Plugins = append(r.Plugins, p)
			}
		}
		if d.Interface != "" && !slices.Contains(r.Interfaces, d.Interface) && len(r.Interfaces) < maxNames && !slices.Contains(interfaces, d.Interface) {
			r.Interfaces = append(r.Interfaces, d.Interface)
		}
	}
	slices.Sort(r.Plugins)
	slices.Sort(r.Interfaces)
	return r
}

// Encode returns the text of the annotation.
func (r Report) Encode() (string, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode the report of the node: %w", err)
	}
	return string(raw), nil
}

// Decode reads the text of the annotation. It returns false if the text is empty, too large or not a report.
func Decode(text string) (Report, bool) {
	var r Report
	if text == "" || len(text) > maxReport || json.Unmarshal([]byte(text), &r) != nil {
		return Report{}, false
	}
	return r, true
}
