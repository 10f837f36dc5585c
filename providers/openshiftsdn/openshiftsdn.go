// Package openshiftsdn is the operator's provider for OpenShift SDN: it validates and defaults the settings, checks changes, and renders the objects that
// deploy the network. The controller (package controller) assigns blocks to nodes and VNIDs to namespaces. The agent on each node (package node) programs Open
// vSwitch. Package agentconfig has the configuration that they share with the operator.
//
// All functions are pure except Observe, Examine and the packet trace, which read from the cluster.
package openshiftsdn

import (
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/serviceproxy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// Image is the environment variable of the operator that names the image of the controller, the agents and Open vSwitch.
const Image = "SDN_IMAGE"

// OpenShiftSDN is the provider. The zero value is ready for use.
type OpenShiftSDN struct{}

// New returns the provider.
func New() OpenShiftSDN { return OpenShiftSDN{} }

var _ provider.Provider = OpenShiftSDN{}

// Traits returns the capabilities of the network. NetworkPolicies are enforced in mode NetworkPolicy.
func (OpenShiftSDN) Traits() provider.Traits {
	return provider.Traits{
		Type:         operatorv1.NetworkTypeOpenShiftSDN,
		ServiceProxy: true,
		KubeProxy: provider.KubeProxySupport{
			Own: true, LocalBridge: agentconfig.Tunnel, Modes: []string{serviceproxy.ModeNFTables, serviceproxy.ModeIPTables},
		},
		HostPrefix:   true,
		HostMTU:      true,
		MTUMigration: true,
		Policies:     provider.PolicySupport{Egress: true, IPBlockExceptions: true},
	}
}

// settings returns the provider's part of a specification. It is never nil.
func settings(spec *operatorv1.NetworkSpec) *osv1.OpenShiftSDNConfig {
	if spec == nil || spec.DefaultNetwork.OpenShiftSDNConfig == nil {
		return &osv1.OpenShiftSDNConfig{}
	}
	return spec.DefaultNetwork.OpenShiftSDNConfig
}

// orZero returns *v, or the zero value if v is nil.
func orZero[T any](v *T) T {
	if v == nil {
		return *new(T)
	}
	return *v
}
