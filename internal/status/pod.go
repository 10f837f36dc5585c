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
)

// troubles is the order in which kinds of trouble are told.
var troubles = [...]Trouble{CrashLoop, ImagePull, CreateFailed, Failed, Unschedulable, NotReady}

const (
	// settle is how long trouble must last before it makes a component Degraded. A pod that is just being
	// started often looks troubled for some seconds.
	settle = 30 * time.Second
	// manyRestarts is from how many restarts on a pod that is not ready counts as crashing over and over, also
	// in the moments in which its container runs.
	manyRestarts = 3
	// named is how many pods of one kind of trouble are named; the others are counted.
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
	// Trouble is empty for a pod that is ready, Detail what is known about it, in words that fit in brackets.
	Trouble Trouble
	Detail  string
}

// settled reports whether trouble of a pod has lasted long enough to be reported, and if not, when it will
// have. NotReady never is by itself: only a rollout that hangs is.
func (p Pod) settled(now time.Time) (bool, time.Duration) {
	if p.Trouble == "" || p.Trouble == NotReady || p.NodeGone {
		return false, 0
	}
	left := settle - now.Sub(p.Since)
	return left <= 0, max(left, 0)
}

// describe returns one sentence for each kind of trouble among the pods, at most three pods named in each.
func describe(pods []Pod) []string {
	var sentences []string
	for _, kind := range troubles {
		var of []Pod
		for _, p := range pods {
			if p.Trouble == kind && !p.NodeGone {
				of = append(of, p)
			}
		}
		if len(of) > 0 {
			sentences = append(sentences, sentence(kind, of))
		}
	}
	return sentences
}

func sentence(kind Trouble, pods []Pod) string {
	slices.SortFunc(pods, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	var parts []string
	for _, p := range pods[:min(named, len(pods))] {
		part := "pod " + p.Name
		if p.Node != "" {
			part += " on node " + p.Node
		}
		part += " " + verb(kind)
		if p.Detail != "" {
			part += " (" + p.Detail + ")"
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ", ")
	if more := len(pods) - named; more > 0 {
		text += fmt.Sprintf(" (%d more)", more)
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
	default:
		return "is not ready"
	}
}
