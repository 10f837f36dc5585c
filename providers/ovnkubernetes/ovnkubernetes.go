// Package ovnkubernetes is the operator's provider for OVN-Kubernetes: it validates and defaults the settings, checks changes, and renders the objects that
// deploy the network. Masters (package master) write OVN's northbound database from the API objects. Agents (package node) bind pods to it. Packages topology
// and agentconfig have the definitions that they share.
//
// All functions are pure except Observe, Examine and the packet trace, which read from the cluster.
package ovnkubernetes

import (
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Image is the environment variable of the operator that names the image of all containers.
const Image = "OVN_IMAGE"

// OVNKubernetes is the provider. The zero value is ready for use.
type OVNKubernetes struct{}

// New returns the provider.
func New() OVNKubernetes { return OVNKubernetes{} }

var _ provider.Provider = OVNKubernetes{}

// Traits returns the capabilities of the network. OVN's load balancers serve pods; nodes and external clients reach Services through kube-proxy.
func (OVNKubernetes) Traits() provider.Traits {
	return provider.Traits{
		Type:         operatorv1.NetworkTypeOVNKubernetes,
		Default:      true, // as on OpenShift; it enforces NetworkPolicies
		HostPrefix:   true,
		HostMTU:      true,
		MTUMigration: true,
		IPv6:         true,
		DualStack:    true,
		GrowPools:    true,
		// Nodes get a block of the second family, and newly started pods an address of it.
		ConvertDualStack: true,

		Implements: []string{"spec.exportNetworkFlows"},
		Policies:   provider.PolicySupport{Egress: true, IPBlockExceptions: true},
	}
}

// settings returns the provider's part of a specification. It is never nil.
func settings(spec *operatorv1.NetworkSpec) *osv1.OVNKubernetesConfig {
	if spec == nil || spec.DefaultNetwork.OVNKubernetesConfig == nil {
		return &osv1.OVNKubernetesConfig{}
	}
	return spec.DefaultNetwork.OVNKubernetesConfig
}

func orZero[T any](v *T) *T {
	if v == nil {
		return new(T)
	}
	return v
}
