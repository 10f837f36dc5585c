// Package multus is the component that gives pods more than one network. In this version it deploys nothing: it
// checks what a user says of additional networks, so that it is right once they are served, and says in the status
// that they are not. It never holds anything else up.
package multus

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Name is the name of the component in conditions.
const Name = "MultiNetwork"

// unavailable is what the status says while the component is asked for.
const unavailable = "Additional pod networks (Multus) are not part of this version. " +
	"Set spec.disableMultiNetwork: true at installation to hide this."

// Component is the component. The zero value is ready for use.
type Component struct{}

// New returns the component.
func New() provider.Component { return Component{} }

// Name is MultiNetwork.
func (Component) Name() string { return Name }

// Enabled reports whether additional networks are asked for: they are, unless spec.disableMultiNetwork is true.
func (Component) Enabled(spec *operatorv1.NetworkSpec) bool { return !disabled(spec) }

func disabled(spec *operatorv1.NetworkSpec) bool {
	return spec.DisableMultiNetwork != nil && *spec.DisableMultiNetwork
}

// Default makes spec.disableMultiNetwork and spec.useMultiNetworkPolicy explicit: both are false.
func (Component) Default(spec, _ *operatorv1.NetworkSpec, _ provider.Traits, _ facts.Cluster) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	if out.DisableMultiNetwork == nil {
		out.DisableMultiNetwork = new(bool)
	}
	if out.UseMultiNetworkPolicy == nil {
		out.UseMultiNetworkPolicy = new(bool)
	}
	return out
}

// CheckChange returns what the table of fields refuses: to turn additional networks on or off. What the additional
// networks are may change.
func (c Component) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	return provider.CheckFields(prev, next, c.Fields())
}

// Observe reads nothing.
func (Component) Observe(context.Context, client.Reader, *operatorv1.NetworkSpec) (provider.Renderer, error) {
	return renderer{}, nil
}

type renderer struct{}

// Render makes no objects, and says that the component does not serve.
func (renderer) Render(*operatorv1.NetworkSpec, facts.Cluster) (provider.Output, error) {
	return provider.Output{Unavailable: unavailable}, nil
}
