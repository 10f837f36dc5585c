package pipeline

import (
	"fmt"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Registry has the networks and components that can be installed. The zero value has none.
type Registry struct {
	// Providers are the networks that can be chosen by type, including known ones that are not implemented yet (see
	// NotBuilt). Messages list the types in this order.
	Providers []provider.Provider
	// Components are deployed in addition to the default network, in the order in which they are applied.
	Components []provider.Component
}

// Check returns an error if a type or name is empty or registered twice, which is a bug in the binary.
func (r Registry) Check() error {
	seen := map[string]bool{}
	for _, name := range r.names() {
		if name == "" || seen[name] {
			return fmt.Errorf("registry of networks: the name %q is given twice or is empty", name)
		}
		seen[name] = true
	}
	return nil
}

func (r Registry) names() []string {
	names := r.types()
	for _, c := range r.Components {
		names = append(names, c.Name())
	}
	return names
}

// types returns the types of all providers, in their order.
func (r Registry) types() []string {
	types := make([]string, 0, len(r.Providers))
	for _, p := range r.Providers {
		types = append(types, string(p.Traits().Type))
	}
	return types
}

// DefaultType returns the type of specifications that omit it; empty if the registry has none.
func (r Registry) DefaultType() operatorv1.NetworkType {
	for _, p := range r.Providers {
		if t := p.Traits(); t.Default {
			return t.Type
		}
	}
	return ""
}

// built returns the types that can be installed.
func (r Registry) built() []string {
	var types []string
	for _, p := range r.Providers {
		if t := p.Traits(); t.NotBuilt == "" {
			types = append(types, string(t.Type))
		}
	}
	return types
}

// provider returns the provider of a type, or a stand-in for a network that a third party installs.
func (r Registry) provider(t operatorv1.NetworkType) provider.Provider {
	for _, p := range r.Providers {
		if p.Traits().Type == t {
			return p
		}
	}
	return thirdParty{t}
}

// Traits returns the capabilities of a network type; for that of a third party, the assumed ones.
func (r Registry) Traits(t operatorv1.NetworkType) provider.Traits { return r.provider(t).Traits() }

// PolicySupport returns the support of a network type for NetworkPolicies, and whether the operator installs that type.
func (r Registry) PolicySupport(t operatorv1.NetworkType) (support provider.PolicySupport, installed bool) {
	for _, p := range r.Providers {
		if traits := p.Traits(); traits.Type == t {
			return traits.Policies, traits.NotBuilt == ""
		}
	}
	return provider.PolicySupport{}, false
}

// MTUMigrator returns the provider of a type as an MTUMigrator; nil if it does not implement it.
func (r Registry) MTUMigrator(t operatorv1.NetworkType) provider.MTUMigrator {
	own, _ := r.provider(t).(provider.MTUMigrator)
	return own
}

// Tracer returns the provider of a type as a Tracer; nil if it does not implement it.
func (r Registry) Tracer(t operatorv1.NetworkType) provider.Tracer {
	own, _ := r.provider(t).(provider.Tracer)
	return own
}

// Examiner returns the provider of a type as an Examiner; nil if it does not implement it.
func (r Registry) Examiner(t operatorv1.NetworkType) provider.Examiner {
	own, _ := r.provider(t).(provider.Examiner)
	return own
}

// VNIDReporter returns the provider of a type as a VNIDReporter; nil if it does not implement it.
func (r Registry) VNIDReporter(t operatorv1.NetworkType) provider.VNIDReporter {
	own, _ := r.provider(t).(provider.VNIDReporter)
	return own
}

// Fill returns a copy of a specification with every default explicit, as the Fill stage sets them, without
// validating it. prev is the applied specification; nil on a new cluster.
func (r Registry) Fill(spec, prev *operatorv1.NetworkSpec, known facts.Cluster) (*operatorv1.NetworkSpec, error) {
	return (&state{registry: r}).fillOne(canonical(spec, r.types()), prev, known)
}
