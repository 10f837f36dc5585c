// Package multus is the component for multiple networks per pod: a daemon on each node, and the definitions of additional networks. The pod network does not
// depend on it, and no other component waits for it.
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
	types    []operatorv1.NetworkType
	operands provider.Operands
}

// New returns the component. types are the networks whose agents configure the shim. networks are the operands of the installable networks: definitions of
// additional networks must not use their bridges and plugins.
func New(types []operatorv1.NetworkType, networks provider.Operands) provider.Component {
	return Component{types, networks}
}

// Name returns MultiNetwork.
func (Component) Name() string { return Name }

// Enabled reports whether multiple networks are enabled: unless spec.disableMultiNetwork is true.
func (Component) Enabled(spec *operatorv1.NetworkSpec) bool { return spec.MultiNetworkEnabled() }

// Default makes every setting explicit; those of spec.multiNetwork only if the component is enabled.
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

// CheckChange returns every unsafe change, according to Fields: enabling or disabling multiple networks. The additional networks themselves may change.
func (c Component) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	return provider.CheckFields(prev, next, c.Fields())
}
