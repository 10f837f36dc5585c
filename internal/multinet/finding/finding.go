// Package finding reports problems of NetworkAttachmentDefinitions and MultiNetworkPolicies before a pod uses them: for the events that the operator
// records on them, for cno doctor, and for cno validate. It is pure. Problems of single nodes come from the nodes' reports.
package finding

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/definition"
	"github.com/cluster-network-operator/cno/internal/multinet/isolation"
	"github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/panics"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Reason is the CamelCase identifier of a problem, and the reason of the event.
type Reason string

// The reasons.
const (
	InvalidDefinition Reason = "InvalidNetworkAttachmentDefinition"
	InvalidPolicy     Reason = "InvalidMultiNetworkPolicy"
	PluginMissing     Reason = "PluginMissing"
	InterfaceMissing  Reason = "InterfaceMissing"
	ForeignNetwork    Reason = "ForeignNetwork"
)

// table has the predicate, the effect and the remedy of each reason.
var table = map[Reason]struct{ predicate, effect, remedy string }{
	InvalidDefinition: {"are invalid", "pods that ask for the network do not start", "correct spec.config; cno validate -f checks it before it is applied"},
	InvalidPolicy: {"are invalid", "it is enforced in its last valid form, or isolates the pods that it selects",
		"correct the policy; cno validate -f checks it before it is applied"},
	ForeignNetwork: {"name networks of other namespaces", "it has no effect there, because pods of its namespace cannot have these networks",
		"name networks of its own namespace or of a global one in the annotation"},
	PluginMissing: {"need CNI plugins that nodes do not have", "pods that ask for the network do not start there", "correct the name, or install the plugin in the directory of CNI plugins of these nodes"},
	InterfaceMissing: {"use interfaces that nodes do not have", "pods that ask for the network do not start there",
		"correct the name, create the interface, or keep pods that ask for the network off these nodes by a nodeSelector"},
}

// Reasons returns all reasons, sorted.
func Reasons() []Reason {
	var all []Reason
	for r := range table {
		all = append(all, r)
	}
	slices.Sort(all)
	return all
}

// Predicate returns a predicate for objects with the reason, in the plural: "are invalid".
func (r Reason) Predicate() string { return table[r].predicate }

// Effect returns the effect of the problem.
func (r Reason) Effect() string { return table[r].effect }

// Remedy returns what a user can do to resolve the problem.
func (r Reason) Remedy() string { return table[r].remedy }

// Finding is a problem of an object.
type Finding struct {
	Reason Reason
	// Detail describes the problem, with field, value and place.
	Detail string
}

// Message returns the detail with the effect and the remedy.
func (f Finding) Message() string {
	return fmt.Sprintf("%s; %s. To resolve, %s", f.Detail, f.Reason.Effect(), f.Reason.Remedy())
}

// Checked is a definition that was parsed.
type Checked struct {
	// Errors are the errors of the definition on every node.
	Errors field.ErrorList
	// Type is the type of its first plugin, Plugins are all CNI plugins that it needs, Interface is the interface of nodes that it uses; empty for none, or with Errors.
	Type      string
	Plugins   []string
	Interface string
	// Panic is the cause of Errors if the check panicked, for the log; nil otherwise.
	Panic *panics.Error
}

// ReadDefinition reads a NetworkAttachmentDefinition. For one without a configuration, which is then in files on nodes, it returns the zero value.
func ReadDefinition(namespace, name, config string) Checked {
	if strings.TrimSpace(config) == "" {
		return Checked{}
	}
	return check(func() (*definition.Definition, field.ErrorList) {
		return definition.Parse(namespace, name, config, definition.Rules{})
	})
}

// check returns the result of parse. A definition with which parse panics has an error, since the definitions of all namespaces are read in one process.
func check(parse func() (*definition.Definition, field.ErrorList)) (c Checked) {
	err := panics.Catch(func(p *panics.Error) { c.Panic = p }, func() error {
		d, errs := parse()
		if len(errs) > 0 {
			c.Errors = errs
		} else {
			c.Type, c.Plugins, c.Interface = d.Type(), d.Types(), d.Master()
		}
		return nil
	})
	if err != nil {
		c.Errors = field.ErrorList{field.InternalError(field.NewPath("spec", "config"), err)}.WithOrigin(definition.Rule)
	}
	return c
}

// ReadObject is ReadDefinition for an object.
func ReadObject(u *unstructured.Unstructured) Checked {
	config, _, err := unstructured.NestedString(u.Object, "spec", "config")
	if err != nil {
		return Checked{Errors: field.ErrorList{field.Forbidden(field.NewPath("spec", "config"), err.Error())}}
	}
	return ReadDefinition(u.GetNamespace(), u.GetName(), config)
}

// Findings returns the problems of the definition on the nodes that have reported.
func (c Checked) Findings(nodes []Node) []Finding {
	if len(c.Errors) > 0 {
		return []Finding{{InvalidDefinition, c.Errors.ToAggregate().Error()}}
	}
	var found []Finding
	for _, plugin := range c.Plugins {
		missing := nodesMissing(nodes, func(r Report) bool { return slices.Contains(r.Plugins, plugin) })
		if len(missing) > 0 {
			found = append(found, Finding{PluginMissing, fmt.Sprintf("spec.config: the CNI plugin %q is missing on %s", plugin, describeNodes(missing, nodes))})
		}
	}
	if c.Interface == "" {
		return found
	}
	missing := nodesMissing(nodes, func(r Report) bool { return slices.Contains(r.Interfaces, c.Interface) })
	if len(missing) > 0 {
		found = append(found, Finding{InterfaceMissing, fmt.Sprintf("spec.config: the interface %q is missing on %s", c.Interface, describeNodes(missing, nodes))})
	}
	return found
}

// ReadPolicy returns the problems of a MultiNetworkPolicy. The pods that it selects are in its namespace, so that it has no effect on networks that they
// may not use.
func ReadPolicy(u *unstructured.Unstructured, rule isolation.Rule) []Finding {
	p, errs := policy.Read(u)
	if len(errs) > 0 {
		return []Finding{{InvalidPolicy, errs.ToAggregate().Error()}}
	}
	for i, network := range p.Networks {
		errs = append(errs, rule.Check(policy.PathFor.Index(i), p.Namespace, network)...)
	}
	if len(errs) > 0 {
		return []Finding{{ForeignNetwork, errs.ToAggregate().Error()}}
	}
	return nil
}

func nodesMissing(nodes []Node, missing func(Report) bool) []string {
	var names []string
	for _, n := range nodes {
		if missing(n.Report) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// maxNamed is the maximum number of nodes that a message names.
const maxNamed = 8

// describeNodes returns a phrase for some of all nodes.
func describeNodes(names []string, all []Node) string {
	text := phrase.Names(names, maxNamed)
	if len(names) == len(all) {
		return "every node: " + text
	}
	if len(names) == 1 {
		return "node " + text
	}
	return fmt.Sprintf("%d of %d nodes: %s", len(names), len(all), text)
}
