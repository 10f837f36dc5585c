package status

import (
	"time"

	osv1 "github.com/openshift/api/operator/v1"
)

// Effect is the condition that a finding affects.
type Effect string

// The effects of findings, with the names of the conditions that they affect.
const (
	// Degraded means that a problem requires user action.
	Degraded Effect = "Degraded"
	// Progressing means that a change is in progress.
	Progressing Effect = "Progressing"
	// Unavailable means that the component does not work.
	Unavailable Effect = "Available"
	// NotUpgradeable means that the cluster must not be upgraded now.
	NotUpgradeable Effect = "Upgradeable"
	// Noted is information without a problem. It becomes the message of Available=True.
	Noted Effect = "Noted"
)

// Finding is one observation of a controller. Findings are compared with ==.
type Finding struct {
	// Component is the subject: a part of the network, for example "KubeProxy", or one of the operator's other controllers,
	// for example "ProxyConfig" (see IsController). Empty means the operator's own work on the network as a whole.
	Component string
	Effect    Effect
	// Reason is a CamelCase identifier, Message a sentence.
	Reason, Message string
	// Aside findings affect only the component's own conditions, not those of the network.
	Aside bool
	// Immediate findings are Degraded immediately, for example because the configuration is invalid. All others are Degraded
	// after they have lasted for two minutes; until then, a NotUpgradeable finding of the same component and reason is
	// withheld as well.
	Immediate bool
	// Meanwhile is the effect of a finding until it is Degraded; empty means none.
	Meanwhile Effect
	// Since is the time since which the finding holds; zero if the objects do not contain it.
	Since time.Time
	// Subject identifies a finding among those of its component independently of the reason, for example a workload: if it
	// crashes first and then lacks its image, its problem has lasted all the time. Empty means that the reason identifies it.
	Subject string
}

// Workload identifies a workload of the operator and its component.
type Workload struct {
	Kind, Namespace, Name string
	Component             string
	// NonCritical workloads never cause Available=False or a stalled rollout.
	NonCritical bool
}

// Live is the state of a workload in the cluster.
type Live struct {
	Workload
	// Version is the value of the annotation release.openshift.io/version.
	Version string
	// Revision is a hash of the pod template.
	Revision string
	// Desired, Current, Updated and Available count pods: desired, existing, those of the newest template, and available
	// ones. Pods of unreachable nodes count as unavailable.
	Desired, Current, Updated, Available int32
	// Generation is the newest generation, Observed the one to which the counts belong.
	Generation, Observed int64
	// Changed is the time at which the workload was last created, applied, or progressed by its controller.
	Changed time.Time
	// Refused is the error of the API server that prevents creating pods; empty if there is none.
	Refused string
	// Pods are those of the workload, in any order.
	Pods []Pod
}

// Input is the input of Decide.
type Input struct {
	Now time.Time
	// Deadline is the time without progress after which a rollout counts as stalled; 0 means 10 minutes.
	Deadline time.Duration
	// Version is the version of this operator.
	Version string
	// Absent is true if there is no Network/cluster.
	Absent bool
	// Starting is true until all controllers have reported since the start of the process. Until then, the previous conditions
	// of controllers that have not reported count, and no memory is dropped.
	Starting bool
	// Previous are the currently published conditions of the network, PreviousControllers those of controllers.
	Previous, PreviousControllers []osv1.OperatorCondition
	// Findings are those of all controllers.
	Findings []Finding
	// Components are the rendered components, including those without workloads.
	Components []string
	// Wanted are the rendered workloads, Live the existing ones.
	Wanted []Workload
	Live   []Live
	// Nodes are all nodes, in any order.
	Nodes []Node
	// Applied is true if all desired objects have been applied, so that Wanted is complete.
	Applied bool
	// Memory is that of the previous decision.
	Memory Memory
}

// Decision is the result of Decide.
type Decision struct {
	// Conditions are those of the network in the order in which they are published, each with the time of its last transition.
	// There are none without Network/cluster.
	Conditions []osv1.OperatorCondition
	// Operator are the conditions of the operator as a whole: Available, Progressing, Degraded and Upgradeable of all
	// components and controllers; only Degraded without Network/cluster.
	Operator []osv1.OperatorCondition
	// Controllers are the conditions of those of the operator's other controllers that have findings.
	Controllers []osv1.OperatorCondition
	// AtVersion is true if all workloads run the version of this operator and the critical ones are available.
	AtVersion bool
	// Versions are the versions of the components whose workloads all run the same version.
	Versions map[string]string
	// Stalled describes the stalled rollouts in a sentence; empty if there are none. StalledWorkloads are their workloads.
	Stalled          string
	StalledWorkloads []Workload
	// Rolling has the start times of unfinished rollouts.
	Rolling map[Workload]time.Time
	// Events are events to record once.
	Events []Event
	// Again is the duration after which the decision may change without other input; 0 means never.
	Again time.Duration
	// Memory is for the next decision.
	Memory Memory
}

// again records that the decision may change after a duration; 0 is ignored.
func (d *Decision) again(after time.Duration) {
	if after > 0 && (d.Again == 0 || after < d.Again) {
		d.Again = after
	}
}
