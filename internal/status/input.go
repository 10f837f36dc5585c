package status

import (
	"time"

	osv1 "github.com/openshift/api/operator/v1"
)

// Effect is the condition that a finding bears on.
type Effect string

// The effects of findings, named like the conditions that they bear on.
const (
	// Degraded: something is wrong and needs a person.
	Degraded Effect = "Degraded"
	// Progressing: something is being changed, or waited for.
	Progressing Effect = "Progressing"
	// Unavailable: the component does not do its work.
	Unavailable Effect = "Available"
	// NotUpgradeable: upgrading the cluster now would make things worse.
	NotUpgradeable Effect = "Upgradeable"
)

// Finding is one thing that a loop has to say.
type Finding struct {
	// Component is the part of the network that it is about, for example "KubeProxy". Empty means the operator's
	// own work on the network as a whole.
	Component string
	Effect    Effect
	// Reason is one CamelCase word for programs, Message a sentence for people.
	Reason, Message string
	// Aside findings appear in the component's own conditions, and do not bear on those of the network.
	Aside bool
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
	// Desired, Updated and Available count pods. Pods of nodes without a working kubelet count as unavailable.
	Desired, Updated, Available int32
	// Generation is the newest, Observed the one that the counts speak of.
	Generation, Observed int64
	// Changed is when the workload was last made, applied, or moved on by its controller.
	Changed time.Time
	// Pods are those of the workload, in any order.
	Pods []Pod
}

// Input is everything that Decide looks at.
type Input struct {
	Now time.Time
	// Version is the version of this operator.
	Version string
	// Previous are the conditions as they are published now.
	Previous []osv1.OperatorCondition
	// Findings of all loops.
	Findings []Finding
	// Components are the parts that were rendered, those without workloads, or without any yet, included.
	Components []string
	// Wanted are the workloads that were rendered, Live those that exist.
	Wanted []Workload
	Live   []Live
	// Applied is true once everything that is wanted has been applied, so that Wanted is complete.
	Applied bool
	// DownSince is Decision.DownSince of the time before; nil after a start.
	DownSince map[Workload]time.Time
}

// Decision is what Decide answers.
type Decision struct {
	// Conditions in the order in which they are published, each with the time of its last transition.
	Conditions []osv1.OperatorCondition
	// AtVersion is true if everything runs in the version of this operator and nothing critical is on its way.
	AtVersion bool
	// Again is after how long the answer may change although nothing else does; 0 means never.
	Again time.Duration
	// DownSince says since when workloads without any available pod have been so.
	DownSince map[Workload]time.Time
}
