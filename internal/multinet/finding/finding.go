// Package finding says what is wrong with NetworkAttachmentDefinitions and MultiNetworkPolicies before a pod needs them: for the events that the
// operator records on them, for cno doctor, and for cno validate. It is pure. What is wrong only on some nodes comes from the nodes' own reports.
package finding

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/definition"
	"github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Reason is a CamelCase identifier for what is wrong. It is that of the event.
type Reason string

// The reasons.
const (
	InvalidDefinition Reason = "InvalidNetworkAttachmentDefinition"
	InvalidPolicy     Reason = "InvalidMultiNetworkPolicy"
	PluginMissing     Reason = "PluginMissing"
	InterfaceMissing  Reason = "InterfaceMissing"
)

// table has for each reason what objects with it are or do, the effect, and what resolves it.
var table = map[Reason]struct{ predicate, effect, remedy string }{
	InvalidDefinition: {"are invalid", "pods that ask for the network do not start", "correct spec.config; cno validate -f checks it before it is applied"},
	InvalidPolicy: {"are invalid", "it is enforced in its last valid form, or isolates the pods that it selects",
		"correct the policy; cno validate -f checks it before it is applied"},
	PluginMissing: {"need CNI plugins that nodes do not have", "pods that ask for the network do not start there", "correct the name, or install the plugin in the directory of CNI plugins of these nodes"},
	InterfaceMissing: {"use interfaces that nodes do not have", "pods that ask for the network do not start there",
		"correct the name, create the interface, or keep pods that ask for the network off these nodes by a nodeSelector"},
}

// Reasons are all reasons, sorted.
func Reasons() []Reason {
	var all []Reason
	for r := range table {
		all = append(all, r)
	}
	slices.Sort(all)
	return all
}

// Predicate is what objects with the reason are or do, in the plural: "are invalid".
func (r Reason) Predicate() string { return table[r].predicate }

// Effect is what an object with the reason leads to.
func (r Reason) Effect() string { return table[r].effect }

// Remedy is what a user can do.
func (r Reason) Remedy() string { return table[r].remedy }

// Finding is one thing that is wrong with an object.
type Finding struct {
	Reason Reason
	// Detail says what is wrong, with field, value and place.
	Detail string
}

// Sentence is the finding with its effect and its remedy.
func (f Finding) Sentence() string {
	return fmt.Sprintf("%s; %s. To resolve, %s", f.Detail, f.Reason.Effect(), f.Reason.Remedy())
}

// Checked is a definition that was read.
type Checked struct {
	// Errors are what is wrong with it on every node.
	Errors field.ErrorList
	// Type is the type of its first plugin, Plugins are all CNI plugins that it needs, Interface is the interface of nodes that it uses; empty for none, or with Errors.
	Type      string
	Plugins   []string
	Interface string
}

// ReadDefinition reads a NetworkAttachmentDefinition. One without a configuration is in files of nodes: nothing is known of it.
func ReadDefinition(namespace, name, config string) Checked {
	if strings.TrimSpace(config) == "" {
		return Checked{}
	}
	d, errs := definition.Parse(namespace, name, config, definition.Rules{})
	if len(errs) > 0 {
		return Checked{Errors: errs}
	}
	return Checked{Type: d.Type(), Plugins: d.Types(), Interface: d.Master()}
}

// ReadObject is ReadDefinition for an object.
func ReadObject(u *unstructured.Unstructured) Checked {
	config, _, err := unstructured.NestedString(u.Object, "spec", "config")
	if err != nil {
		return Checked{Errors: field.ErrorList{field.Forbidden(field.NewPath("spec", "config"), err.Error())}}
	}
	return ReadDefinition(u.GetNamespace(), u.GetName(), config)
}

// Findings returns what is wrong with the definition, on the nodes that have reported.
func (c Checked) Findings(nodes []Node) []Finding {
	if len(c.Errors) > 0 {
		return []Finding{{InvalidDefinition, c.Errors.ToAggregate().Error()}}
	}
	var found []Finding
	for _, plugin := range c.Plugins {
		lacking := lack(nodes, func(r Report) bool { return slices.Contains(r.Plugins, plugin) })
		if len(lacking) > 0 {
			found = append(found, Finding{PluginMissing, fmt.Sprintf("spec.config: the CNI plugin %q is missing on %s", plugin, which(lacking, nodes))})
		}
	}
	if c.Interface == "" {
		return found
	}
	lacking := lack(nodes, func(r Report) bool { return slices.Contains(r.Interfaces, c.Interface) })
	if len(lacking) > 0 {
		found = append(found, Finding{InterfaceMissing, fmt.Sprintf("spec.config: the interface %q is missing on %s", c.Interface, which(lacking, nodes))})
	}
	return found
}

// ReadPolicy returns what is wrong with a MultiNetworkPolicy.
func ReadPolicy(u *unstructured.Unstructured) []Finding {
	if _, errs := policy.Read(u); len(errs) > 0 {
		return []Finding{{InvalidPolicy, errs.ToAggregate().Error()}}
	}
	return nil
}

func lack(nodes []Node, missing func(Report) bool) []string {
	var names []string
	for _, n := range nodes {
		if missing(n.Report) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// mostNamed bounds the nodes that a sentence names.
const mostNamed = 8

// which names nodes.
func which(names []string, all []Node) string {
	text := phrase.Names(names, mostNamed)
	if len(names) == len(all) {
		return "every node: " + text
	}
	if len(names) == 1 {
		return "node " + text
	}
	return fmt.Sprintf("%d of %d nodes: %s", len(names), len(all), text)
}
