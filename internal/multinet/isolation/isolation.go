// Package isolation decides which networks the pods of a namespace may use.
package isolation

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
)

// Rule is the isolation of namespaces. The zero value permits all networks.
type Rule struct {
	// Enabled restricts pods to networks of their own namespace and of Global.
	Enabled bool
	Global  []string
}

// Of returns the rule of spec.multiNetwork of the Network, whose defaults must be filled in; nil permits all networks.
func Of(m *operatorv1.MultiNetworkConfig) Rule {
	if m == nil || m.NamespaceIsolation == nil {
		return Rule{}
	}
	return Rule{*m.NamespaceIsolation, m.GlobalNamespaces}
}

// Keys of the rule in the NetworkGuard, whose admission policies use it.
const (
	KeyEnabled = "spec.multiNetwork.namespaceIsolation"
	KeyGlobal  = "spec.multiNetwork.globalNamespaces"
)

// Data returns the rule as data of the NetworkGuard. Names of namespaces contain no commas.
func (r Rule) Data() map[string]string {
	return map[string]string{KeyEnabled: strconv.FormatBool(r.Enabled), KeyGlobal: strings.Join(r.Global, ",")}
}

// FromData returns the rule of Data; the zero Rule if it is not there.
func FromData(data map[string]string) Rule {
	if data[KeyEnabled] != "true" {
		return Rule{}
	}
	return Rule{true, strings.Split(data[KeyGlobal], ",")}
}

// Permits reports whether pods of one namespace may use the networks of another.
func (r Rule) Permits(pods, networks string) bool {
	return !r.Enabled || pods == networks || slices.Contains(r.Global, networks)
}

// Check returns an error at the field that names a network, "namespace/name", if pods of the namespace may not use it.
func (r Rule) Check(at *field.Path, pods, network string) field.ErrorList {
	namespace, _, _ := strings.Cut(network, "/")
	if r.Permits(pods, namespace) {
		return nil
	}
	return field.ErrorList{rules.FurtherNetworksIsolation.Forbidden(at, network, pods, strings.Join(r.Global, ", "))}
}
