package status

import (
	"time"

	osv1 "github.com/openshift/api/operator/v1"
)

// Effect is the condition that a finding affects.
type Effect string

// The effects of findings, named like the conditions that they affect.
const (
	// Degraded: something is wrong and needs a person.
	Degraded Effect = "Degraded"
	// Progressing: something is being changed, or waited for.
	Progressing Effect = "Progressing"
	// Unavailable: the component does not do its work.
	Unavailable Effect = "Available"
	// NotUpgradeable: upgrading the cluster now would make things worse.
	NotUpgradeable Effect = "Upgradeable"
	// Noted: nothing is wrong, and people should know nevertheless. It is the message of Available=True.
	Noted Effect = "Noted"
)

// Finding is one thing that a loop has to say. Findings are compared with ==.
type Finding struct {
	// Component is what it is about: a part of the network, for example "KubeProxy", or one of the operator's other
	// controllers, for example "ProxyConfig" (see IsController). Empty means the operator's own work on the network as a
	// whole.
	Component string
	Effect    Effect
	// Reason is one CamelCase word for programs, Message a sentence for people.
	Reason, Message string
	// Aside findings appear in the component's own conditions, and do not affect those of the network.
	Aside bool
	// Immediate findings are Degraded at once: what someone wrote is wrong, and waiting will not help. All others are
	// Degraded once they have lasted for two minutes; until then, a NotUpgradeable finding of the same component and reason
	// is held back, too.
	Immediate bool
	// Meanwhile is the effect that a finding has until it is Degraded; empty is none.
	Meanwhile Effect
	// Since is since when it has been so, as far as that can be read off the objects; zero if it cannot.
	Since time.Time
	// Subject tells findings of one component from one another whatever their reason, for example a workload: one that
	// crashes, then lacks its image, has been in trouble all the time. Empty means that the reason does.
	Subject string
}

// Workload names a workload that the operator wants, and the component that it belongs to.
type Workload struct {
	Kind, Namespace, Name string
	Component             string
	// NonCritical workloads are never a reason for Available=False or for a hung rollout.
	NonCritical bool
}

// Live is the state of a workload in the cluster.
type Live struct {
	Workload
	// Version is the value of the annotation release.openshift.io/version.
	Version string
	// Revision stands for the template of the pods: another template has another one.
	Revision string
	// Desired, Current, Updated and Available count pods: those that there should be, are, are of the newest template, and
	// work. Pods of nodes without a working kubelet count as unavailable.
	Desired, Current, Updated, Available int32
	// Generation is the newest, Observed the one that the counts speak of.
	Generation, Observed int64
	// Changed is when the workload was last made, applied, or moved on by its controller.
	Changed time.Time
	// Refused is why pods cannot be made, in a sentence of the API server; empty if they can.
	Refused string
	// Pods are those of the workload, in any order.
	Pods []Pod
}

// Input is everything that Decide looks at.
type Input struct {
	Now time.Time
	// Deadline is how long a rollout may stall before it counts as hung; 0 is 10 minutes.
	Deadline time.Duration
	// Version is the version of this operator.
	Version string
	// Absent is true if there is no Network/cluster.
	Absent bool
	// Starting is true as long as loops may not have said anything since the process began. What controllers said before
	// counts until then, unless they have something else to say, and nothing that is remembered is forgotten.
	Starting bool
	// Previous are the conditions of the network as they are published now, PreviousControllers those of controllers.
	Previous, PreviousControllers []osv1.OperatorCondition
	// Findings of all loops.
	Findings []Finding
	// Components are the parts that were rendered, those without workloads, or without any yet, included.
	Components []string
	// Wanted are the workloads that were rendered, Live those that exist.
	Wanted []Workload
	Live   []Live
	// Nodes are all nodes, in any order.
	Nodes []Node
	// Applied is true once everything that is wanted has been applied, so that Wanted is complete.
	Applied bool
	// Memory is that of the decision before.
	Memory Memory
}

// Decision is what Decide answers.
type Decision struct {
	// Conditions of the network in the order in which they are published, each with the time of its last transition. None
	// while there is no Network/cluster.
	Conditions []osv1.OperatorCondition
	// Operator are the conditions of the operator as a whole: Available, Progressing, Degraded and Upgradeable, of
	// everything that there is; only Degraded while there is no Network/cluster.
	Operator []osv1.OperatorCondition
	// Controllers are the conditions of the operator's other controllers, of those that have something to say.
	Controllers []osv1.OperatorCondition
	// AtVersion is true if everything runs in the version of this operator and nothing critical is on its way.
	AtVersion bool
	// Versions are those in which components run, of those whose workloads all run in the same one.
	Versions map[string]string
	// Hung says which rollouts do not get further, in a sentence; empty if all do. Stuck are their workloads.
	Hung  string
	Stuck []Workload
	// Rolling says since when workloads have been rolled out that are not through.
	Rolling map[Workload]time.Time
	// Happened is what people should be told of once.
	Happened []Happening
	// Again is after how long the answer may change although nothing else does; 0 means never.
	Again time.Duration
	// Memory is for the next decision.
	Memory Memory
}

// again notes that the answer may change after some time; 0 is ignored.
func (d *Decision) again(after time.Duration) {
	if after > 0 && (d.Again == 0 || after < d.Again) {
		d.Again = after
	}
}
