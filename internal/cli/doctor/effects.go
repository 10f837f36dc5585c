package doctor

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cluster-network-operator/cno/internal/status"
)

// starting is the time that a pod may take to become ready before it is a finding.
const starting = time.Minute

// effects are findings that explain other ones.
type effects struct {
	// unreachable are the nodes whose kubelet does not report.
	unreachable map[string]bool
	// message is that of the network's Degraded condition: objects that it names need no finding of their own.
	message string
	// pods are the nodes on which a pod of the network has a problem.
	pods map[string]bool
}

// unreachableNodes returns the nodes whose kubelet does not report.
func unreachableNodes(nodes []map[string]any) map[string]bool {
	unreachable := map[string]bool{}
	for _, o := range nodes {
		if s := condition(o, "Ready").status; s == "Unknown" || s == "" {
			unreachable[name(o)] = true
		}
	}
	return unreachable
}

// degradedMessage returns the message of the network's Degraded condition; "" if it is not True.
func degradedMessage(f *collected) string {
	o, _ := f.named(section{resource: networkObjects}.name(), "cluster")
	if c := condition(o, "Degraded"); c.status == "True" {
		return c.message
	}
	return ""
}

// failingNodes returns the nodes on which a pod of the network has a problem.
func failingNodes(f *collected, now time.Time) map[string]bool {
	nodes := map[string]bool{}
	for _, section := range sortedSections(f, "/pods") {
		for _, o := range f.objects[section] {
			if p, failing := failingPod(o, now); failing {
				nodes[p.Node] = true
			}
		}
	}
	return nodes
}

// explains reports whether all missing pods of a workload have a finding of their own or are on unreachable nodes, or whether
// the network's condition names the workload.
func (e effects) explains(namespace, workload string, pods []map[string]any, lacking int64) bool {
	if strings.Contains(e.message, `"`+namespace+"/"+workload+`"`) {
		return true
	}
	for _, o := range pods {
		if strings.HasPrefix(name(o), workload+"-") && !podReady(o) && (e.unreachable[nodeOf(o)] || e.pods[nodeOf(o)]) {
			lacking--
		}
	}
	return lacking <= 0
}

// ofUnreachable reports whether a connectivity check is from or to an unreachable node.
func (e effects) ofUnreachable(check string) bool {
	for node := range e.unreachable {
		if strings.Contains(check, node) {
			return true
		}
	}
	return false
}

// podProblem is the reason why pods are not ready.
type podProblem struct {
	problem status.Problem
	detail  string
}

func (p podProblem) text() string {
	return strings.Trim(string(p.problem)+": "+p.detail, ": ")
}

// failingPod returns the state of a pod and whether it has a problem and is not ready after a minute.
func failingPod(o map[string]any, now time.Time) (status.Pod, bool) {
	var p corev1.Pod
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o, &p) != nil {
		return status.Pod{}, false
	}
	pod := status.OfPod(&p, false)
	return pod, !pod.Ready && pod.Problem != "" && p.Status.Phase != corev1.PodSucceeded && now.Sub(pod.Created) >= starting
}

func nodeOf(pod map[string]any) string {
	spec, _ := pod["spec"].(map[string]any)
	node, _ := spec["nodeName"].(string)
	return node
}
