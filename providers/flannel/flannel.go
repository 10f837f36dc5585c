// Package flannel is the operator's side of flannel: which settings are right, what their defaults are, which may
// change, and the objects that make them true. Agents on the nodes (node) take subnets from etcd and route to one
// another; the operator's loop (controller) manages that etcd. What configures both is in agentconfig
// and record.
//
// Everything here is a pure function of values, but for Observe, which reads one ConfigMap or two.
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

// Traits says what flannel can do. Its etcd keys can carry a second family, but its agents' rules and routes for
// IPv6 are not tested end to end here, so that IPv6 is refused rather than half done.
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

// settings returns the provider's part of a specification, never nil.
func settings(spec *operatorv1.NetworkSpec) *operatorv1.FlannelConfig {
	if spec == nil || spec.DefaultNetwork.FlannelConfig == nil {
		return &operatorv1.FlannelConfig{}
	}
	return spec.DefaultNetwork.FlannelConfig
}

// overhead returns how many bytes of each packet a backend takes for itself.
func overhead(b operatorv1.FlannelBackend) int {
	if b == operatorv1.FlannelBackendVXLAN {
		return vxlanOverhead
	}
	return 0
}
