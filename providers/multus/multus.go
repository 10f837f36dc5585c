// Package multus is the component that gives pods more than one network: a daemon on each node, and the definitions of further networks.
// The pod network does not depend on it, and nothing of it holds anything else up.
package multus

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Name is the name of the component in conditions.
const Name = "MultiNetwork"

// Component is the component. The zero value is ready for use.
type Component struct {
	types   []operatorv1.NetworkType
	bridges []string
}

// New returns the component. types are those of the networks whose agents have pods started with the shim. bridges are those of the networks that can be installed (provider.Operands.Bridges): definitions of further
// networks cannot use them.
func New(types []operatorv1.NetworkType, bridges ...string) provider.Component {
	return Component{types, bridges}
}

// Name is MultiNetwork.
func (Component) Name() string { return Name }

// Enabled reports whether additional networks are asked for: they are, unless spec.disableMultiNetwork is true.
func (Component) Enabled(spec *operatorv1.NetworkSpec) bool { return spec.MultiNetworkEnabled() }

// Default makes every setting explicit. Those of spec.multiNetwork are, while the component is enabled.
func (Component) Default(spec, _ *operatorv1.NetworkSpec, _ provider.Traits, _ facts.Cluster) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	if out.DisableMultiNetwork == nil {
		out.DisableMultiNetwork = new(bool)
	}
	if out.UseMultiNetworkPolicy == nil {
		out.UseMultiNetworkPolicy = new(bool)
	}
	if out.MultiNetworkEnabled() {
		fillSettings(out)
	}
	return out
}

// CheckChange returns what the table of fields refuses: to turn additional networks on or off. What the additional
// networks are may change.
func (c Component) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	return provider.CheckFields(prev, next, c.Fields())
}
