package node

import (
	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// What problems are about.
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

// status is what the agent reports besides its problems, and what only metrics show. The slices in it are replaced, never changed.
type status struct {
	agentconfig.AgentStatus
	// restored is true while the agent works with what it kept on disk.
	restored bool
	// connected is true while etcd answers.
	connected bool
	// missing is the number of routes that should be and are not, but for peers that are off the link.
	missing int
	// rejected is the number of other nodes' leases that traffic does not follow.
	rejected int
}

// view is what the board shows at one moment.
type view = agent.View[status]

// report is the status with the problems in it. That etcd cannot be reached is left out: by the time that the
// report gets there it is no longer true. So are addresses of etcd that do not answer, which the report has a field for.
func report(v view) agentconfig.AgentStatus {
	out := v.Status.AgentStatus
	out.Errors = v.Problems.Sentences(topicEtcd, topicMembers)
	return out
}
