package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Problem is the reason why a pod is not ready.
type Problem string

// The problems, the most severe first.
const (
	CrashLoop     Problem = "CrashLoopBackOff"
	ImagePull     Problem = "ImagePullBackOff"
	CreateFailed  Problem = "CreateContainerError"
	Failed        Problem = "PodFailed"
	Unschedulable Problem = "Unschedulable"
	NotReady      Problem = "NotReady"
	// Starting means that the containers are being created: no problem unless it lasts.
	Starting Problem = "Starting"
)

// problems is the order in which problems are reported.
var problems = [...]Problem{CrashLoop, ImagePull, CreateFailed, Failed, Unschedulable, NotReady, Starting}

const (
	// manyRestarts is the number of restarts from which a pod that is not ready counts as crashing repeatedly, even
	// while its container runs.
	manyRestarts = 3
	// healedAfter is the time for which a pod that has crashed repeatedly must be ready until it counts as healthy.
	healedAfter = time.Minute
	// named is the maximum number of sentences about pods of a workload; the other pods are counted.
	named = 3
)

// Pod is the observed state of one pod of a workload.
type Pod struct {
	Name, Node string
	Ready      bool
	// NodeUnreachable is true if the node's kubelet does not report: then the network does not cause the pod's state.
	NodeUnreachable bool
	// Since is the time of the last transition of Ready.
	Since   time.Time
	Created time.Time
	// Problem is empty for a pod that is ready and has not crashed repeatedly. Detail describes it, as text for
	// parentheses. Pods that have both in common are reported together.
	Problem Problem
	Detail  string
}

// withProblems returns the pods with problems at a time, and the duration after which one of them will count as healthy.
func withProblems(pods []Pod, now time.Time) (found []Pod, again time.Duration) {
	for _, p := range pods {
		if p.Problem == "" || p.NodeUnreachable {
			continue
		}
		if p.Ready {
			left := min(healedAfter-now.Sub(p.Since), healedAfter)
			if left <= 0 {
				continue
			}
			if again == 0 || left < again {
				again = left
			}
		}
		found = append(found, p)
	}
	slices.SortStableFunc(found, BySeverity)
	return found, again
}

// BySeverity orders pods by their problems, the most severe first, and then by name.
func BySeverity(a, b Pod) int {
	return cmp.Or(slices.Index(problems[:], a.Problem)-slices.Index(problems[:], b.Problem), cmp.Compare(a.Name, b.Name))
}

// Describe returns one sentence for each problem of pods, at most three, and counts the pods of each. The pods are in the order of
// BySeverity.
func Describe(pods []Pod) string {
	type cause struct {
		problem Problem
		detail  string
	}
	var causes []cause
	of := map[cause][]Pod{}
	for _, p := range pods {
		c := cause{p.Problem, p.Detail}
		if of[c] == nil {
			causes = append(causes, c)
		}
		of[c] = append(of[c], p)
	}
	var sentences []string
	reported := 0
	for _, c := range causes[:min(named, len(causes))] {
		sentences = append(sentences, sentence(of[c]))
		reported += len(of[c])
	}
	text := strings.Join(sentences, "; ")
	if more := len(pods) - reported; more > 0 {
		text += "; " + phrase.More(more) + " pods"
	}
	return text
}

func sentence(pods []Pod) string {
	p := pods[0]
	text := "pod " + p.Name
	if p.Node != "" {
		text += " on node " + p.Node
	}
	text += " " + verb(p.Problem)
	if p.Detail != "" {
		text += " (" + p.Detail + ")"
	}
	if len(pods) > 1 {
		text += fmt.Sprintf(" (%d pods affected)", len(pods))
	}
	return text
}

func verb(kind Problem) string {
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
