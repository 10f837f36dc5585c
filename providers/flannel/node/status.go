package node

import (
	"maps"
	"slices"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// topic is what a problem is about. A topic has at most one problem at a time.
type topic string

const (
	topicEtcd       topic = "etcd"
	topicMembers    topic = "members"
	topicLease      topic = "lease"
	topicIdentity   topic = "identity"
	topicInterface  topic = "interface"
	topicBackend    topic = "backend"
	topicForwarding topic = "forwarding"
	topicBridge     topic = "bridge"
	topicKernel     topic = "kernel"
	topicFirewall   topic = "firewall"
	topicRoutes     topic = "routes"
	topicLeases     topic = "leases"
	topicFiles      topic = "files"
	topicCNI        topic = "cni"
	topicState      topic = "state"
	topicSubnet     topic = "subnet"
	topicPods       topic = "pods"
	topicDetached   topic = "detached"
)

// board is what the agent reports, gathered from everywhere. The maps and slices in it are replaced, never
// changed.
type board struct {
	status   agentconfig.AgentStatus
	problems map[topic]string
	// restored is true while the agent works with what it kept on disk.
	restored bool
	// connected is true while etcd answers.
	connected bool
	// missing is the number of routes that should be and are not, but for peers that are off the link.
	missing int
	// rejected is the number of other nodes' leases that traffic does not follow.
	rejected int
}

// set notes a problem, or with a nil error that there is none, and reports whether that is new.
func (b *board) set(t topic, err error) bool {
	sentence := ""
	if err != nil {
		sentence = err.Error()
	}
	if b.problems[t] == sentence {
		return false
	}
	next := maps.Clone(b.problems)
	if next == nil {
		next = map[topic]string{}
	}
	if next[t] = sentence; sentence == "" {
		delete(next, t)
	}
	b.problems = next
	return true
}

// report is the status with the problems in it. That etcd cannot be reached is left out: by the time that the
// report gets there it is no longer true. So are addresses of etcd that do not answer, which the report has a field for.
func (b board) report() agentconfig.AgentStatus {
	out := b.status
	out.Errors = nil
	for _, t := range slices.Sorted(maps.Keys(b.problems)) {
		if t != topicEtcd && t != topicMembers {
			out.Errors = append(out.Errors, b.problems[t])
		}
	}
	slices.Sort(out.Errors)
	return out
}

// sentences are all problems, for a reader on the node.
func (b board) sentences() []string {
	return slices.Sorted(maps.Values(b.problems))
}
