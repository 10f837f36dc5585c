package record

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// NodePermissions are what the agent on a node may do: read everything below the prefix, write what it reports, and
// write the lease of the subnet that is reserved for it. Zero subnets mean that none is.
func NodePermissions(prefix, node string, v4, v6 netip.Prefix) []etcdcluster.Permission {
	out := []etcdcluster.Permission{
		{Key: prefix + "/", End: prefix + "0"}, // 0 is what follows the slash
		{Key: agentconfig.AgentKey(prefix, node), Write: true},
	}
	if v4.IsValid() {
		out = append(out, etcdcluster.Permission{Key: agentconfig.SubnetKey(prefix, v4, v6), Write: true})
	}
	return out
}
