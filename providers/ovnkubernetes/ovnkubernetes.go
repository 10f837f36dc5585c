// Package ovnkubernetes is the operator's side of OVN-Kubernetes: which settings are valid, their defaults, which may change, and the
// objects that deploy it. Masters write OVN's northbound database from the API's objects (master), nodes bind pods to it (node). What all
// of them agree on is in topology and agentconfig.
//
// Everything here is a pure function of values, except Observe, which reads two DaemonSets and the nodes.
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

// Traits says what the network can do. OVN's load balancers serve pods; nodes and clients outside reach Services by kube-proxy. Pods can
// have IPv6 addresses beside IPv4 ones, not alone: see validateFamilies.
func (OVNKubernetes) Traits() provider.Traits {
	return provider.Traits{
		Type:         operatorv1.NetworkTypeOVNKubernetes,
		HostPrefix:   true,
		HostMTU:      true,
		MTUMigration: true,
		IPv6:         true,
		DualStack:    true,
		GrowPools:    true,
		// Nodes get a block of the second family, and pods that start from then on an address of it.
		ConvertDualStack: true,

		Implements: []string{"spec.exportNetworkFlows"},
		Policies:   provider.PolicySupport{Egress: true, IPBlockExceptions: true},
	}
}

// settings returns the provider's part of a specification, never nil.
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
