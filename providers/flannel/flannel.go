// Package flannel is the operator's provider for flannel: it validates and defaults the settings, checks changes, and renders the objects that deploy the
// network. Agents on the nodes (package node) take subnets from etcd and route to one another. The operator's controller (package controller) manages that
// etcd. Packages agentconfig and record have the configuration of both.
//
// All functions are pure except Observe and the packet trace, which read from the cluster.
package flannel

import (
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Flannel is the provider. The zero value is ready for use.
type Flannel struct{}

// New returns the provider.
func New() Flannel { return Flannel{} }

var _ provider.Provider = Flannel{}

// Traits returns the capabilities of flannel. Its etcd keys support a second family, but the agents' IPv6 rules and routes are not tested end to end, so that
// IPv6 is rejected.
func (Flannel) Traits() provider.Traits {
	return provider.Traits{
		Type:               operatorv1.NetworkTypeFlannel,
		HostPrefix:         true,
		HostMTU:            true,
		MaxClusterNetworks: 1,
		GrowPools:          true,
		MTUMigration:       true,
	}
}

// settings returns the provider's part of a specification. It is never nil.
func settings(spec *operatorv1.NetworkSpec) *operatorv1.FlannelConfig {
	if spec == nil || spec.DefaultNetwork.FlannelConfig == nil {
		return &operatorv1.FlannelConfig{}
	}
	return spec.DefaultNetwork.FlannelConfig
}

// overhead returns the overhead of a backend per packet, in bytes.
func overhead(b operatorv1.FlannelBackend) int {
	if b == operatorv1.FlannelBackendVXLAN {
		return vxlanOverhead
	}
	return 0
}
