package multus

import "github.com/cluster-network-operator/cno/internal/provider"

// unread is why additional networks, and policies on them, have no effect yet.
const unread = "Multus is not part of this version"

// Fields says what a change of each of the component's fields means.
func (Component) Fields() []provider.Field {
	return []provider.Field{
		{Path: "spec.additionalNetworks", Class: provider.Live, Disruption: provider.NoDisruption, Unread: unread,
			Reason: "pods that run keep the networks they have; pods that start get what is asked for then"},
		{Path: "spec.disableMultiNetwork", Class: provider.Forbidden, Disruption: provider.Outage,
			Fixed: RuleChange, Subject: "DisableMultiNetwork", LeftOut: "false",
			Reason: "running pods would keep networks that are no longer served, or lack networks that they should have"},
		{Path: "spec.useMultiNetworkPolicy", Class: provider.Rolling, Disruption: provider.PodsRestart, Unread: unread,
			Reason: "policies on additional networks take effect, or cease, with the component that enforces them"},
	}
}
