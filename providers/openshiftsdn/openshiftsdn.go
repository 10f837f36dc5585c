// Package openshiftsdn is the operator's side of OpenShift SDN: which settings are valid, their defaults, which may change, and the objects
// that deploy it. The controller (controller) gives nodes their blocks and namespaces their VNIDs, the agent of each node (node) programs
// Open vSwitch. What both and the operator agree on is in agentconfig.
//
// Everything here is a pure function of values, except Observe, which reads three DaemonSets, the nodes, and whether this is OpenShift.
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

// Traits says what the network can do. NetworkPolicies are enforced in mode NetworkPolicy.
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

// settings returns the provider's part of a specification, never nil.
func settings(spec *operatorv1.NetworkSpec) *osv1.OpenShiftSDNConfig {
	if spec == nil || spec.DefaultNetwork.OpenShiftSDNConfig == nil {
		return &osv1.OpenShiftSDNConfig{}
	}
	return spec.DefaultNetwork.OpenShiftSDNConfig
}

// orZero returns what a pointer points to; the zero value if it is nil.
func orZero[T any](v *T) T {
	if v == nil {
		return *new(T)
	}
	return *v
}
