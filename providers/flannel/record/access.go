package record

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// NodePermissions returns the etcd permissions of a node's agent: read everything below the prefix, write its report, and write the lease of its reserved
// subnet. Zero subnets mean that none is reserved.
func NodePermissions(prefix, node string, v4, v6 netip.Prefix) []etcdcluster.Permission {
	out := []etcdcluster.Permission{
		{Key: prefix + "/", End: prefix + "0"}, // 0 is the character after the slash
		{Key: agentconfig.AgentKey(prefix, node), Write: true},
	}
	if v4.IsValid() {
		out = append(out, etcdcluster.Permission{Key: agentconfig.SubnetKey(prefix, v4, v6), Write: true})
	}
	return out
}
