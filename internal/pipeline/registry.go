package pipeline

import (
	"fmt"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Registry is what can be installed. The zero value knows no network.
type Registry struct {
	// Providers are the networks that can be chosen by type, the known ones that are not built yet included (see
	// NotBuilt). Their order is that of the types in messages.
	Providers []provider.Provider
	// Components are what is deployed beside the default network, in the order in which they are applied.
	Components []provider.Component
}

// Check reports what makes a registry unusable: the same type or name twice, or none. It is a bug of the program
// that made it.
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

// provider returns the provider of a type, or the one that stands for networks that a third party installs.
func (r Registry) provider(t operatorv1.NetworkType) provider.Provider {
	for _, p := range r.Providers {
		if p.Traits().Type == t {
			return p
		}
	}
	return thirdParty{t}
}

// Traits returns what a type of network can do; that of a third party, what is assumed of it.
func (r Registry) Traits(t operatorv1.NetworkType) provider.Traits { return r.provider(t).Traits() }

// PolicySupport returns what a type of network enforces of NetworkPolicies, and whether the operator installs that type.
func (r Registry) PolicySupport(t operatorv1.NetworkType) (support provider.PolicySupport, installed bool) {
	for _, p := range r.Providers {
		if traits := p.Traits(); traits.Type == t {
			return traits.Policies, traits.NotBuilt == ""
		}
	}
	return provider.PolicySupport{}, false
}

// MTUMigrator returns the provider of a type as one that changes the MTU itself; nil if it does not.
func (r Registry) MTUMigrator(t operatorv1.NetworkType) provider.MTUMigrator {
	own, _ := r.provider(t).(provider.MTUMigrator)
	return own
}

// Tracer returns the provider of a type as one that explains what becomes of packets; nil if it does not.
func (r Registry) Tracer(t operatorv1.NetworkType) provider.Tracer {
	own, _ := r.provider(t).(provider.Tracer)
	return own
}

// Examiner returns the provider of a type as one that compares its network with the Kubernetes API; nil if it does not.
func (r Registry) Examiner(t operatorv1.NetworkType) provider.Examiner {
	own, _ := r.provider(t).(provider.Examiner)
	return own
}

// Fill returns a copy of a specification with every default explicit, as the stage of that name makes them, without
// looking at what may be wrong with it. prev is what is applied, nil on a fresh cluster.
func (r Registry) Fill(spec, prev *operatorv1.NetworkSpec, known facts.Cluster) (*operatorv1.NetworkSpec, error) {
	return (&state{registry: r}).fillOne(canonical(spec, r.types()), prev, known)
}
