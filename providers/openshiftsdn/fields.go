package openshiftsdn

import "github.com/cluster-network-operator/cno/internal/provider"

// config is the path of the provider's part of the specification.
const config = "spec.defaultNetwork.openshiftSDNConfig"

// Fields returns the change class of each of the provider's fields.
func (OpenShiftSDN) Fields() []provider.Field {
	return []provider.Field{
		{Path: config, Class: provider.Forbidden, Disruption: provider.Outage, Reason: "each setting below it has a class of its own"},
		{Path: config + ".mode", Class: provider.Forbidden, Disruption: provider.Outage, Fixed: "openshiftsdn-mode-change", Subject: "openshift-sdn mode",
			Reason: "the virtual networks of namespaces are others in each mode, and nodes of different modes drop one another's packets"},
		{Path: config + ".vxlanPort", Class: provider.Forbidden, Disruption: provider.Outage, Fixed: "openshiftsdn-vxlan-port-change", Subject: "openshift-sdn vxlanPort",
			Reason: "nodes with different ports do not reach one another"},
		{Path: config + ".mtu", Class: provider.Migration, Disruption: provider.ConnectionsReset, Acknowledge: true,
			Fixed: "openshiftsdn-mtu-change", Subject: "openshift-sdn mtu without migration (spec.migration.mtu)",
			Reason: "pods keep the MTU they started with: until all have been restarted, connections between old and new ones may stall"},
		{Path: config + ".useExternalOpenvswitch", Class: provider.Rolling, Disruption: provider.Outage, Acknowledge: true,
			Fixed: "openshiftsdn-external-openvswitch-change", Subject: "who runs Open vSwitch",
			Reason: "on each node in turn, pods are without a network from when one Open vSwitch ends until the other one has their ports and flows"},
		{Path: config + ".enableUnidling", Class: provider.Rolling, Disruption: provider.PodsRestart,
			Reason: "agents restart node by node; flows stay in place, so that traffic continues"},
	}
}
