package node

import (
	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// Topics of problems.
const (
	topicEtcd       agent.Topic = "etcd"
	topicMembers    agent.Topic = "members"
	topicLease      agent.Topic = "lease"
	topicIdentity   agent.Topic = "identity"
	topicInterface  agent.Topic = "interface"
	topicBackend    agent.Topic = "backend"
	topicForwarding agent.Topic = "forwarding"
	topicBridge     agent.Topic = "bridge"
	topicKernel     agent.Topic = "kernel"
	topicFirewall   agent.Topic = "firewall"
	topicRoutes     agent.Topic = "routes"
	topicLeases     agent.Topic = "leases"
	topicFiles      agent.Topic = "files"
	topicCNI        agent.Topic = "cni"
	topicState      agent.Topic = "state"
	topicSubnet     agent.Topic = "subnet"
	topicPods       agent.Topic = "pods"
	topicDetached   agent.Topic = "detached"
)

// status is the agent's status in addition to problems, including values for metrics only. Its slices are replaced, never changed.
type status struct {
	agentconfig.AgentStatus
	// restored is true while the agent uses the saved state.
	restored bool
	// connected is true while etcd responds.
	connected bool
	// missing is the number of missing routes, except for peers off the link.
	missing int
	// rejected is the number of other nodes' leases that are not used for routing.
	rejected int
}

// view is a snapshot of the board.
type view = agent.View[status]

// report returns the status with the problems. It omits that etcd is unreachable, which is outdated when the report arrives, and unresponsive addresses of
// etcd, which have their own field.
func report(v view) agentconfig.AgentStatus {
	out := v.Status.AgentStatus
	out.Errors = v.Problems.Sentences(topicEtcd, topicMembers)
	return out
}
