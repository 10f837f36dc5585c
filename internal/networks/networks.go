// Package networks is the one list of the networks and components that can be installed. Taking a provider's directory
// and its line here away removes it from every program.
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

// Registry returns what can be installed.
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

// registry returns what can be installed besides some networks, which components know.
func registry(providers []provider.Provider) pipeline.Registry {
	r := pipeline.Registry{Providers: providers}
	bridges := r.Operands().Bridges
	r.Components = []provider.Component{kubeproxy.New(), multus.New(installed(r.Providers), bridges...), diagnostics.New()}
	return r
}

// installed are the types of the networks that the operator installs. The CNI configurations of their agents let pods have further networks.
func installed(providers []provider.Provider) []operatorv1.NetworkType {
	var types []operatorv1.NetworkType
	for _, p := range providers {
		if traits := p.Traits(); traits.NotBuilt == "" {
			types = append(types, traits.Type)
		}
	}
	return types
}
