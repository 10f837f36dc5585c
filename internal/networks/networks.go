// Package networks lists the networks and components that can be installed. Removing a provider's directory and its line
// in this package removes it from every binary.
package networks

import (
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/diagnostics"
	"github.com/cluster-network-operator/cno/providers/flannel"
	"github.com/cluster-network-operator/cno/providers/kubeproxy"
	"github.com/cluster-network-operator/cno/providers/multus"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes"
)

// Registry returns the networks and components that can be installed.
func Registry() pipeline.Registry {
	return registry(append([]provider.Provider{
		flannel.New(),
		ovnkubernetes.New(),
		openshiftsdn.New(),
		pipeline.NotBuilt(operatorv1.NetworkTypeKuryr),
		pipeline.NotBuilt(operatorv1.NetworkTypeNuage),
		pipeline.NotBuilt(operatorv1.NetworkTypeContiv),
	}, tests...))
}

// registry returns the registry of providers and all components.
func registry(providers []provider.Provider) pipeline.Registry {
	r := pipeline.Registry{Providers: providers}
	r.Components = []provider.Component{kubeproxy.New(), multus.New(installed(r.Providers), r.Operands()), diagnostics.New()}
	return r
}

// installed returns the types of the networks that the operator installs. The CNI configurations of their agents support further networks.
func installed(providers []provider.Provider) []operatorv1.NetworkType {
	var types []operatorv1.NetworkType
	for _, p := range providers {
		if traits := p.Traits(); traits.NotBuilt == "" {
			types = append(types, traits.Type)
		}
	}
	return types
}
