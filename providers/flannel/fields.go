package flannel

import "github.com/cluster-network-operator/cno/internal/provider"

// config is the path of the provider's part of the specification.
const config = "spec.defaultNetwork.flannelConfig"

// Fields says what a change of each of the provider's fields means. Those that decide how packets travel can be
// changed by who acknowledges it: agents go over node by node, and nodes before and after do not reach one another.
func (Flannel) Fields() []provider.Field {
	return []provider.Field{
		acknowledged(".backend", "flannel-backend-change", "nodes with different backends do not reach one another until the last agent has restarted"),
		unset(acknowledged(".interface", "flannel-interface-change", "nodes that use different links do not reach one another until the last agent has restarted")),
		acknowledged(".vxlan", "", "nodes with different VXLAN settings do not reach one another until the last agent has restarted"),
		acknowledged(".vxlan.vni", "flannel-vxlan-vni-change", "nodes with different VXLAN settings do not reach one another until the last agent has restarted"),
		acknowledged(".vxlan.port", "flannel-vxlan-port-change", "nodes with different VXLAN settings do not reach one another until the last agent has restarted"),
		{Path: config + ".mtu", Class: provider.Migration, Disruption: provider.ConnectionsReset, Acknowledge: true, Fixed: "flannel-mtu-change",
			Reason: "pods keep the MTU they started with: until all have been restarted, connections between old and new ones may stall"},
		{Path: config + ".etcd.external", Class: provider.Rolling, Disruption: provider.PodsRestart,
			Reason: "agents restart node by node and read the same data at other endpoints, or with other credentials; routes stay in place"},
		forbidden(".etcd", "", "the subnets that nodes hold are written in the etcd that is in use"),
		forbidden(".etcd.prefix", "flannel-etcd-prefix-change", "the subnets that nodes hold are kept under the old prefix"),
		forbidden(".etcd.managed", "", "members would start without their data, or not find one another"),
		forbidden(".etcd.managed.clientPort", "flannel-etcd-client-port-change", "agents and members would not find one another"),
		forbidden(".etcd.managed.peerPort", "flannel-etcd-peer-port-change", "the port is written in the members' own data"),
		forbidden(".etcd.managed.dataDir", "flannel-etcd-data-dir-change", "members would start without their data"),
	}
}

// unset makes having no value a value: the interface of the default route is a choice.
func unset(f provider.Field) provider.Field {
	f.Unset = true
	return f
}

func acknowledged(path, rule, why string) provider.Field {
	return provider.Field{Path: config + path, Class: provider.Rolling, Disruption: provider.Outage, Acknowledge: true, Reason: why, Fixed: rule}
}

func forbidden(path, rule, why string) provider.Field {
	return provider.Field{Path: config + path, Class: provider.Forbidden, Disruption: provider.Outage, Reason: why, Fixed: rule}
}
