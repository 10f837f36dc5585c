package doctor

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cluster-network-operator/cno/internal/status"
)

// starting is how long a pod may take before it looks wrong.
const starting = time.Minute

// effects are what other findings follow from.
type effects struct {
	// gone are the nodes whose kubelet does not answer.
	gone map[string]bool
	// message is that of Degraded of the network: what it names needs no finding of its own.
	message string
	// pods are the nodes on which a pod of the network has a problem.
	pods map[string]bool
}

// goneNodes are the nodes whose kubelet does not answer.
func goneNodes(nodes []map[string]any) map[string]bool {
	gone := map[string]bool{}
	for _, o := range nodes {
		if s := condition(o, "Ready").status; s == "Unknown" || s == "" {
			gone[name(o)] = true
		}
	}
	return gone
}

// degradedMessage is what the network's Degraded condition says, empty if it is not True.
func degradedMessage(f *collected) string {
	o, _ := f.named(section{resource: networkObjects}.name(), "cluster")
	if c := condition(o, "Degraded"); c.status == "True" {
		return c.message
	}
	return ""
}

// troubledNodes are the nodes on which a pod of the network has a problem.
func troubledNodes(f *collected, now time.Time) map[string]bool {
	nodes := map[string]bool{}
	for _, section := range sortedSections(f, "/pods") {
		for _, o := range f.objects[section] {
			if p, is := troubledPod(o, now); is {
				nodes[p.Node] = true
			}
		}
	}
	return nodes
}

// explains reports whether the pods that a workload lacks are all ones with a finding of their own, or on nodes that do
// not answer, or whether the network's condition names the workload.
func (e effects) explains(namespace, workload string, pods []map[string]any, lacking int64) bool {
	if strings.Contains(e.message, `"`+namespace+"/"+workload+`"`) {
		return true
	}
	for _, o := range pods {
		if strings.HasPrefix(name(o), workload+"-") && !podReady(o) && (e.gone[nodeOf(o)] || e.pods[nodeOf(o)]) {
			lacking--
		}
	}
	return lacking <= 0
}

// ofGone reports whether a connectivity check is from or to a node that does not answer.
func (e effects) ofGone(check string) bool {
	for node := range e.gone {
		if strings.Contains(check, node) {
			return true
		}
	}
	return false
}

// podProblem is what keeps pods from being ready.
type podProblem struct {
	trouble status.Trouble
	detail  string
}

func (p podProblem) text() string {
	return strings.Trim(string(p.trouble)+": "+p.detail, ": ")
}

// troubledPod returns the state of a pod, in the words that conditions use, and whether it has a problem: one that is
// not ready after a minute.
func troubledPod(o map[string]any, now time.Time) (status.Pod, bool) {
	var p corev1.Pod
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o, &p) != nil {
		return status.Pod{}, false
	}
	pod := status.OfPod(&p, false)
	return pod, !pod.Ready && pod.Trouble != "" && p.Status.Phase != corev1.PodSucceeded && now.Sub(pod.Created) >= starting
}

func nodeOf(pod map[string]any) string {
	spec, _ := pod["spec"].(map[string]any)
	node, _ := spec["nodeName"].(string)
	return node
}
