package multus

import "github.com/cluster-network-operator/cno/internal/provider"

// Fields returns the change class of each of the component's fields.
func (Component) Fields() []provider.Field {
	const kept = "running pods keep their networks; new pods get the networks that they request"
	setting := func(path string) provider.Field {
		return provider.Field{Path: path, Class: provider.Rolling, Disruption: provider.PodsRestart, Needs: provider.NeedsComponent,
			Reason: "the daemons restart node by node, while new pods with additional networks wait; pods that run keep the networks they have"}
	}
	return []provider.Field{
		{Path: "spec.additionalNetworks", Class: provider.Live, Disruption: provider.NoDisruption, Reason: kept},
		{Path: "spec.disableMultiNetwork", Class: provider.Forbidden, Disruption: provider.Outage,
			Fixed: RuleChange, Subject: "DisableMultiNetwork", LeftOut: "false",
			Reason: "running pods would keep networks that are no longer served, or lack networks that they should have"},
		{Path: "spec.useMultiNetworkPolicy", Class: provider.Rolling, Disruption: provider.PodsRestart, Needs: provider.NeedsComponent,
			Reason: "the daemons restart node by node, and MultiNetworkPolicies take effect on a node, or cease there, with its daemon"},
		setting("spec.multiNetwork"),
		setting("spec.multiNetwork.namespaceIsolation"),
		setting("spec.multiNetwork.globalNamespaces"),
		setting("spec.multiNetwork.attachments"),
		setting("spec.multiNetwork.restricted"),
		setting("spec.multiNetwork.restricted.masters"),
	}
}
