package connectivity

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

const (
	// AgreedDelay is how long two or more sources must have failed to reach a node before it counts as unreachable. A failing check is
	// repeated every 15 seconds, so that is eight samples of each.
	AgreedDelay = 2 * time.Minute
	// SingleSourceDelay is the same if only one source has a result.
	SingleSourceDelay = 5 * time.Minute
)

// Result is the result of a check.
type Result struct {
	Check
	// Known is false until the source has taken a sample.
	Known     bool
	Reachable bool
	// Since is the last transition of Reachable.
	Since time.Time
	// Message is the error if the target is unreachable.
	Message string
}

// ResultOf returns the result of a check in its object.
func ResultOf(c Check, live *operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck) Result {
	r := Result{Check: c}
	for _, condition := range live.Status.Conditions {
		if condition.Type == operatorcontrolplanev1alpha1.Reachable {
			r.Known, r.Reachable = true, condition.Status == metav1.ConditionTrue
			r.Since, r.Message = condition.LastTransitionTime.Time, condition.Message
		}
	}
	return r
}

// Problem is an unreachable target or an isolated source.
type Problem struct {
	// Target is the unreachable target. It is zero for an isolated source.
	Target Target
	// From are the nodes of the sources that agree, in order.
	From []string
	// Since is the time from which all of them failed.
	Since time.Time
	// Message is the error of one of them.
	Message string
}

// Sentence returns the sentence about an unreachable target without its subject: "cannot be reached from pods on a since ...".
func (p Problem) Sentence() string {
	return fmt.Sprintf("cannot be reached from pods on %s since %s: %s", phrase.Names(p.From, maxFrom), p.Since.UTC().Format(time.RFC3339), p.Message)
}

// maxFrom is the maximum number of sources in a sentence; the others are counted.
const maxFrom = 3

// Summary is the summary of all results.
type Summary struct {
	// Nodes and Targets are unreachable, Sources are isolated.
	Nodes, Targets, Sources []Problem
	// RequeueAfter is the time after which the summary may change without a new result. 0 means never.
	RequeueAfter time.Duration
}

// Unreachable returns a sentence for each unreachable node, by its name.
func (v Summary) Unreachable() map[string]string {
	sentences := map[string]string{}
	for _, p := range v.Nodes {
		sentences[p.Target.Node] = "the node " + p.Sentence()
	}
	return sentences
}

// Summarize returns the unreachable targets. Only results of ready sources count, since another source cannot report. A target is
// unreachable if all sources have failed to reach it for long enough. A source that reaches no node while others do is isolated, and its
// results are ignored.
func Summarize(results []Result, ready map[string]bool, now time.Time) Summary {
	usable := make([]*Result, 0, len(results))
	reached := map[string]bool{} // nodes that at least one source reaches
	for i := range results {
		if r := &results[i]; r.Known && ready[r.SourcePod] {
			usable = append(usable, r)
			if r.Reachable && r.Target.Node != "" {
				reached[r.Target.Node] = true
			}
		}
	}
	var v Summary
	isolated := v.isolated(usable, reached, now)
	usable = slices.DeleteFunc(usable, func(r *Result) bool { return isolated[r.SourcePod] })
	byTarget := func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.Target.Node, b.Target.Node), cmp.Compare(a.Target.Name, b.Target.Name), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(usable, byTarget)
	for group := range runs(usable, func(a, b *Result) bool { return a.Target.Node == b.Target.Node && a.Target.Name == b.Target.Name }) {
		p, found := v.problem(group, now)
		switch {
		case !found:
		case p.Target.Node != "":
			v.Nodes = append(v.Nodes, p)
		default:
			v.Targets = append(v.Targets, p)
		}
	}
	return v
}

// runs yields the groups of equal elements of a sorted list.
func runs(sorted []*Result, same func(a, b *Result) bool) iter.Seq[[]*Result] {
	return func(yield func([]*Result) bool) {
		for begin, end := 0, 0; begin < len(sorted); begin = end {
			for end = begin + 1; end < len(sorted) && same(sorted[begin], sorted[end]); {
				end++
			}
			if !yield(sorted[begin:end]) {
				return
			}
		}
	}
}

// problem returns the problem of one target or source if all results have failed for long enough.
func (v *Summary) problem(results []*Result, now time.Time) (Problem, bool) {
	if slices.ContainsFunc(results, func(r *Result) bool { return r.Reachable }) {
		return Problem{}, false
	}
	t := Problem{Target: results[0].Target, Message: results[0].Message}
	for _, r := range results {
		t.From = append(t.From, r.SourceNode)
		if r.Since.After(t.Since) {
			t.Since = r.Since
		}
	}
	delay := AgreedDelay
	if len(results) == 1 {
		delay = SingleSourceDelay
	}
	if left := delay - now.Sub(t.Since); left > 0 {
		if v.RequeueAfter == 0 || left < v.RequeueAfter {
			v.RequeueAfter = left
		}
		return Problem{}, false
	}
	return t, true
}

// isolated returns the pods of sources that reach none of at least two nodes, some of which other sources reach. Their results are ignored
// immediately, and they are added to Sources after the delay.
func (v *Summary) isolated(usable []*Result, reached map[string]bool, now time.Time) map[string]bool {
	nodes := slices.DeleteFunc(slices.Clone(usable), func(r *Result) bool { return r.Target.Node == "" })
	slices.SortFunc(nodes, func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.SourcePod, b.SourcePod), cmp.Compare(a.Name, b.Name))
	})
	isolated := map[string]bool{}
	for own := range runs(nodes, func(a, b *Result) bool { return a.SourcePod == b.SourcePod }) {
		reaches := slices.ContainsFunc(own, func(r *Result) bool { return r.Reachable })
		othersReach := slices.ContainsFunc(own, func(r *Result) bool { return reached[r.Target.Node] })
		if reaches || !othersReach || len(own) < 2 {
			continue
		}
		isolated[own[0].SourcePod] = true
		if t, lasted := v.problem(own, now); lasted {
			v.Sources = append(v.Sources, Problem{From: t.From[:1], Since: t.Since, Message: t.Message})
		}
	}
	return isolated
}
