package flannel

import "github.com/cluster-network-operator/cno/internal/provider"

// config is the path of the provider's part of the specification.
const config = "spec.defaultNetwork.flannelConfig"

// Reasons that several fields share.
const (
	otherVXLAN  = "nodes with different VXLAN settings do not reach one another until the last agent has restarted"
	withoutData = "members would start without their data"
)

// Fields returns the change class of each of the provider's fields. Transport settings can be changed after acknowledgement: agents restart node by node, and
// nodes before and after the change do not reach one another.
func (Flannel) Fields() []provider.Field {
	return []provider.Field{
		acknowledged(".backend", "flannel-backend-change", "the flannel backend", "nodes with different backends do not reach one another until the last agent has restarted"),
		unset(acknowledged(".interface", "flannel-interface-change", "the interface of pod traffic", "nodes that use different links do not reach one another until the last agent has restarted")),
		acknowledged(".vxlan", "", "", otherVXLAN),
		acknowledged(".vxlan.vni", "flannel-vxlan-vni-change", "the VXLAN network identifier", otherVXLAN),
		acknowledged(".vxlan.port", "flannel-vxlan-port-change", "the VXLAN port", otherVXLAN),
		{Path: config + ".mtu", Class: provider.Migration, Disruption: provider.ConnectionsReset, Acknowledge: true,
			Fixed: "flannel-mtu-change", Subject: "flannel MTU without migration (spec.migration.mtu)",
			Reason: "pods keep the MTU they started with: until all have been restarted, connections between old and new ones may stall"},
		{Path: config + ".etcd.external", Class: provider.Rolling, Disruption: provider.PodsRestart,
			Reason: "agents restart node by node and read the same data at other endpoints, or with other credentials; routes stay in place"},
		{Path: config + ".etcd", Class: provider.Forbidden, Disruption: provider.Outage, Choice: []string{"managed", "external"},
			Fixed: "flannel-etcd-change", Subject: "flannel's etcd", Reason: "the subnets that nodes hold are written in the etcd that is in use"},
		forbidden(".etcd.prefix", "flannel-etcd-prefix-change", "the etcd prefix", "the subnets that nodes hold are kept under the old prefix"),
		forbidden(".etcd.managed", "", "", withoutData+", or not find one another"),
		forbidden(".etcd.managed.clientPort", "flannel-etcd-client-port-change", "the client port of the managed etcd", "agents and members would not find one another"),
		forbidden(".etcd.managed.peerPort", "flannel-etcd-peer-port-change", "the peer port of the managed etcd", "the port is written in the members' own data"),
		forbidden(".etcd.managed.dataDir", "flannel-etcd-data-dir-change", "the directory of the managed etcd", withoutData),
	}
}

// unset makes the empty value significant: it selects the interface of the default route.
func unset(f provider.Field) provider.Field {
	f.Unset = true
	return f
}

func acknowledged(path, rule, what, why string) provider.Field {
	return provider.Field{Path: config + path, Class: provider.Rolling, Disruption: provider.Outage, Acknowledge: true, Fixed: rule, Subject: what, Reason: why}
}

func forbidden(path, rule, what, why string) provider.Field {
	return provider.Field{Path: config + path, Class: provider.Forbidden, Disruption: provider.Outage, Fixed: rule, Subject: what, Reason: why}
}
