package record

import (
	"net/netip"
	"strings"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// Identities in the managed etcd: the common name of a client certificate is the name of a user.
const (
	// EtcdSigner is the signer of the certificates that nodes request for themselves.
	EtcdSigner = "network.openshift.io/flannel-etcd"
	// RootUser is the user of the operator, and the role of everything.
	RootUser = "root"
	// RootSecret is what the operator presents to etcd. It lives in the operator's own namespace.
	RootSecret = "flannel-etcd-root"
	// ServiceAccount is the account of the agents' pods, which request certificates.
	ServiceAccount = "flannel"

	nodeUserPrefix = "flannel:node:"
)

// NodeUser is the user of the agent on a node, and its role.
func NodeUser(node string) string { return nodeUserPrefix + node }

// UserNode returns the node of a user; ok is false if it is not that of an agent.
func UserNode(user string) (node string, ok bool) {
	node, ok = strings.CutPrefix(user, nodeUserPrefix)
	return node, ok && node != ""
}

// Permission is a range of keys that a role may read or, with Write, also write.
type Permission struct {
	// Key is the first key. End is the first one after the range; empty if it is Key alone.
	Key, End string
	Write    bool
}

// NodePermissions are what the agent on a node may do: read everything below the prefix, write what it reports, and
// write the lease of the subnet that is reserved for it. Zero subnets mean that none is.
func NodePermissions(prefix, node string, v4, v6 netip.Prefix) []Permission {
	out := []Permission{
		{Key: prefix + "/", End: prefix + "0"}, // 0 is what follows the slash
		{Key: agentconfig.AgentKey(prefix, node), Write: true},
	}
	if v4.IsValid() {
		out = append(out, Permission{Key: agentconfig.SubnetKey(prefix, v4, v6), Write: true})
	}
	return out
}
