package flannel

import "github.com/cluster-network-operator/cno/internal/provider"

// config is the path of the provider's part of the specification.
const config = "spec.defaultNetwork.flannelConfig"

// Fields says what a change of each of the provider's fields means. Those that decide how packets travel can be
// changed by who acknowledges it: agents go over node by node, and nodes before and after do not reach one another.
func (Flannel) Fields() []provider.Field {
	acknowledged := func(path, why string) provider.Field {
		return provider.Field{Path: config + path, Class: provider.Rolling, Disruption: provider.Outage, Acknowledge: true, Reason: why}
	}
	forbidden := func(path, why string) provider.Field {
		return provider.Field{Path: config + path, Class: provider.Forbidden, Disruption: provider.Outage, Reason: why}
	}
	return []provider.Field{
		acknowledged(".backend", "nodes with different backends do not reach one another until the last agent has restarted"),
		acknowledged(".interface", "nodes that use different links do not reach one another until the last agent has restarted"),
		acknowledged(".vxlan", "nodes with different VXLAN settings do not reach one another until the last agent has restarted"),
		{Path: config + ".mtu", Class: provider.Migration, Disruption: provider.ConnectionsReset, Acknowledge: true,
			Reason: "pods keep the MTU they started with: until all have been started anew, connections between old and new ones may stall"},
		{Path: config + ".etcd.external", Class: provider.Rolling, Disruption: provider.PodsRestart,
			Reason: "agents restart node by node and read the same data at other endpoints, or with other credentials; routes stay meanwhile"},
		forbidden(".etcd", "the subnets that nodes hold are written in the etcd that is in use"),
		forbidden(".etcd.managed", "members would start without their data, or not find one another"),
		forbidden(".etcd.prefix", "the subnets that nodes hold are kept under the old prefix"),
	}
}
