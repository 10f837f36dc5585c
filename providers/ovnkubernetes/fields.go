package ovnkubernetes

import "github.com/cluster-network-operator/cno/internal/provider"

// config is the path of the provider's part of the specification.
const config = "spec.defaultNetwork.ovnKubernetesConfig"

// noAudit is why the settings of audit messages have no effect.
const noAudit = "audit messages of NetworkPolicies are not part of this version"

// Fields says what a change of each of the provider's fields means. Where only one value is valid, there is no change.
func (OVNKubernetes) Fields() []provider.Field {
	return []provider.Field{
		{Path: config, Class: provider.Forbidden, Disruption: provider.NoDisruption, Reason: "this version implements one value"},
		{Path: config + ".mtu", Class: provider.Rolling, Disruption: provider.ConnectionsReset, Acknowledge: true, Fixed: "ovn-mtu-change", Subject: "ovn-kubernetes MTU without migration",
			Reason: "pods keep the MTU they started with: until all have been restarted, connections between old and new ones may stall"},
		{Path: config + ".genevePort", Class: provider.Rolling, Disruption: provider.Outage, Acknowledge: true, Fixed: "ovn-geneve-port-change", Subject: "ovn-kubernetes genevePort",
			Reason: "nodes with different ports do not reach one another until the last agent has restarted"},
		{Path: config + ".policyAuditConfig", Class: provider.Live, Disruption: provider.NoDisruption, Reason: noAudit, Unread: noAudit},
		live(".v4InternalSubnet"), live(".ipv4.internalJoinSubnet"), live(".ipv4.internalTransitSwitchSubnet"),
		live(".v6InternalSubnet"), live(".ipv6.internalJoinSubnet"), live(".ipv6.internalTransitSwitchSubnet"),
		{Path: config + ".gatewayConfig.ipv6.internalMasqueradeSubnet", Class: provider.Live, Disruption: provider.NoDisruption,
			Reason: "this version implements one value, which comes and goes with the IPv6 pools"},
	}
}

// live is a subnet that is kept free.
func live(path string) provider.Field {
	return provider.Field{Path: config + path, Class: provider.Live, Disruption: provider.NoDisruption,
		Reason: "no packet has these addresses; they are kept free of pools"}
}
