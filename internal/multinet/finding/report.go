package finding

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Annotation is where the daemon of further networks of a node reports about the node: on its own pod, whose annotations no other node can
// write.
const Annotation = "networkoperator.openshift.io/further-networks"

// The pods that report: those of this label app, in this namespace.
const (
	Namespace = "openshift-multus"
	App       = "multus"
)

// Any counts, in Report.Instances, pods with a further network of any type.
const Any = "any"

// maxNames and maxReport bound a report, in names of each kind and in bytes.
const (
	maxNames  = 256
	maxReport = 64 << 10
)

// Report is what a node's daemon reports. Names are those that definitions of the cluster have, and tenants may write.
type Report struct {
	// Plugins are the CNI plugins, Interfaces the interfaces that definitions name and the node does not have.
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

// Decode reads the text of the annotation. One that is too large, or is no report, is false: nothing is known of the node.
func Decode(text string) (Report, bool) {
	var r Report
	if text == "" || len(text) > maxReport || json.Unmarshal([]byte(text), &r) != nil {
		return Report{}, false
	}
	return r, true
}
