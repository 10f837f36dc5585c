package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trouble is what keeps a pod from being ready.
type Trouble string

// The kinds of trouble, the gravest first.
const (
	CrashLoop     Trouble = "CrashLoopBackOff"
	ImagePull     Trouble = "ImagePullBackOff"
	CreateFailed  Trouble = "CreateContainerError"
	Failed        Trouble = "PodFailed"
	Unschedulable Trouble = "Unschedulable"
	NotReady      Trouble = "NotReady"
	// Starting is a pod whose containers are being made: no trouble unless it lasts.
	Starting Trouble = "Starting"
)

// troubles is the order in which kinds of trouble are told.
var troubles = [...]Trouble{CrashLoop, ImagePull, CreateFailed, Failed, Unschedulable, NotReady, Starting}

const (
	// manyRestarts is from how many restarts on a pod that is not ready counts as crashing over and over, also
	// in the moments in which its container runs.
	manyRestarts = 3
	// steady is how long a pod that has crashed over and over must be ready until it counts as healed.
	steady = time.Minute
	// named is how many sentences on pods a workload gets; the other pods are counted.
	named = 3
)

// Pod is what is known of one pod of a workload.
type Pod struct {
	Name, Node string
	Ready      bool
	// NodeGone is true if the node's kubelet does not answer: then the pod's state is not the network's fault.
	NodeGone bool
	// Since is when Ready got its present value.
	Since   time.Time
	Created time.Time
	// Trouble is empty for a pod that is ready and has not crashed over and over, Detail what is known about it, in
	// words that fit in brackets. Pods with the same of both are reported as one.
	Trouble Trouble
	Detail  string
}

// troubled returns the pods that something keeps from working at a moment, and when one of them will have healed.
func troubled(pods []Pod, now time.Time) (found []Pod, again time.Duration) {
	for _, p := range pods {
		if p.Trouble == "" || p.NodeGone {
			continue
		}
		if p.Ready {
			left := min(steady-now.Sub(p.Since), steady)
			if left <= 0 {
				continue
			}
			if again == 0 || left < again {
				again = left
			}
		}
		found = append(found, p)
	}
	slices.SortStableFunc(found, func(a, b Pod) int {
		return cmp.Or(slices.Index(troubles[:], a.Trouble)-slices.Index(troubles[:], b.Trouble), cmp.Compare(a.Name, b.Name))
	})
	return found, again
}

// describe returns one sentence for each cause of trouble among pods in the order of troubled, at most three, and
// counts the pods of each.
func describe(pods []Pod) string {
	type cause struct {
		trouble Trouble
		detail  string
	}
	var causes []cause
	of := map[cause][]Pod{}
	for _, p := range pods {
		c := cause{p.Trouble, p.Detail}
		if of[c] == nil {
			causes = append(causes, c)
		}
		of[c] = append(of[c], p)
	}
	var sentences []string
	told := 0
	for _, c := range causes[:min(named, len(causes))] {
		sentences = append(sentences, sentence(of[c]))
		told += len(of[c])
	}
	text := strings.Join(sentences, "; ")
	if more := len(pods) - told; more > 0 {
		text += fmt.Sprintf("; and %d more pods", more)
	}
	return text
}

func sentence(pods []Pod) string {
	p := pods[0]
	text := "pod " + p.Name
	if p.Node != "" {
		text += " on node " + p.Node
	}
	text += " " + verb(p.Trouble)
	if p.Detail != "" {
		text += " (" + p.Detail + ")"
	}
	if len(pods) > 1 {
		text += fmt.Sprintf(" (%d pods affected)", len(pods))
	}
	return text
}

func verb(kind Trouble) string {
	switch kind {
	case CrashLoop, ImagePull:
		return "is in " + string(kind) + " State"
	case CreateFailed:
		return "cannot create its container"
	case Failed:
		return "has failed"
	case Unschedulable:
		return "cannot be scheduled"
	case Starting:
		return "is still being started"
	default:
		return "is not ready"
	}
}
