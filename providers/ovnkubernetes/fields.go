package ovnkubernetes

import (
	osv1 "github.com/openshift/api/operator/v1"

	"github.com/cluster-network-operator/cno/internal/provider"
)

// config is the path of the provider's part of the specification.
const config = "spec.defaultNetwork.ovnKubernetesConfig"

// Fields returns the change class of each of the provider's fields. A field with only one valid value cannot change.
func (OVNKubernetes) Fields() []provider.Field {
	return []provider.Field{
		{Path: config, Class: provider.Live, Disruption: provider.NoDisruption, Reason: "this version implements one value"},
		{Path: config + ".mtu", Class: provider.Migration, Disruption: provider.ConnectionsReset, Acknowledge: true, Fixed: "ovn-mtu-change", Subject: "ovn-kubernetes MTU without migration (spec.migration.mtu)",
			Reason: "pods keep the MTU they started with: until all have been restarted, connections between old and new ones may stall"},
		{Path: config + ".genevePort", Class: provider.Rolling, Disruption: provider.Outage, Acknowledge: true, Fixed: "ovn-geneve-port-change", Subject: "ovn-kubernetes genevePort",
			Reason: "nodes with different ports do not reach one another until the last agent has restarted"},
		{Path: config + ".ipsecConfig", Class: provider.Live, Disruption: provider.NoDisruption,
			Reason: "in phases: nodes start to encrypt before they refuse unencrypted packets, and accept unencrypted packets before they send them"},
		{Path: config + ".ipsecConfig.mode", Class: provider.Migration, Disruption: provider.NoDisruption, LeftOut: string(osv1.IPsecModeDisabled),
			Reason: "in phases: nodes start to encrypt before they refuse unencrypted packets, and accept unencrypted packets before they send them; not during an MTU migration, since encryption reduces the MTU"},
		{Path: config + ".ipsecConfig.full.encapsulation", Class: provider.Live, Disruption: provider.NoDisruption, Reason: "nodes use it when they authenticate again, within twelve hours"},
		{Path: config + ".policyAuditConfig", Class: provider.Live, Disruption: provider.NoDisruption, Reason: "ovn-controller and masters follow the file of their ConfigMap; flows stay"},
		{Path: config + ".policyAuditConfig.destination", Class: provider.Rolling, Disruption: provider.ConnectionsReset,
			Reason: "the agents restart if the socket of the node's syslog that they mount changes, and follow the file of their ConfigMap otherwise"},
		live(".v4InternalSubnet"), live(".ipv4.internalJoinSubnet"), live(".ipv4.internalTransitSwitchSubnet"),
		live(".v6InternalSubnet"), live(".ipv6.internalJoinSubnet"), live(".ipv6.internalTransitSwitchSubnet"),
		{Path: config + ".gatewayConfig.ipv6.internalMasqueradeSubnet", Class: provider.Live, Disruption: provider.NoDisruption,
			Reason: "this version implements one value, which is set and removed with the IPv6 pools"},
	}
}

// live returns the field of a reserved subnet.
func live(path string) provider.Field {
	return provider.Field{Path: config + path, Class: provider.Live, Disruption: provider.NoDisruption,
		Reason: "no packet has these addresses; they are kept free of pools"}
}
