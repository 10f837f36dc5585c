package connectivity

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

const (
	// Agreed is how long all sources of a node must have failed to reach it before it counts as not reachable, if there are
	// two or more. A check that fails is repeated every 15 seconds: eight samples of each have failed then.
	Agreed = 2 * time.Minute
	// Alone is the same if there is but one source that can tell.
	Alone = 5 * time.Minute
)

// Result is what a check has found.
type Result struct {
	Check
	// Known is false until the source has taken a sample.
	Known     bool
	Reachable bool
	// Since is when the check last became reachable, or not.
	Since time.Time
	// Message says why it is not.
	Message string
}

// Trouble is a target that cannot be reached, or a source that reaches nothing.
type Trouble struct {
	// Target is what cannot be reached. It is zero if From is a source that reaches nothing.
	Target Target
	// From are the nodes of the sources that agree, in order.
	From []string
	// Since is when the last of them ceased to reach it.
	Since time.Time
	// Message is what one of them says.
	Message string
}

// Verdict is what all results say together.
type Verdict struct {
	// Nodes, Targets and Sources are what cannot be reached, other than nodes; and sources that reach nothing.
	Nodes, Targets, Sources []Trouble
	// Again is after how long the verdict may change although no result does. 0 means never.
	Again time.Duration
}

// Judge decides from results what cannot be reached. Only sources that are ready have a say: another one's last result is
// of the past, since it cannot report. A target cannot be reached if all sources agree, for long enough; as
// soon as one reaches it, it can. A source that reaches no node at all has no say either, if others do reach them: the fault is its own.
func Judge(results []Result, ready map[string]bool, now time.Time) Verdict {
	said := make([]*Result, 0, len(results))
	reached := map[string]bool{} // the nodes that someone reaches
	for i := range results {
		if r := &results[i]; r.Known && ready[r.SourcePod] {
			said = append(said, r)
			if r.Reachable && r.Target.Node != "" {
				reached[r.Target.Node] = true
			}
		}
	}
	var v Verdict
	blind := v.blind(said, reached, now)
	said = slices.DeleteFunc(said, func(r *Result) bool { return blind[r.SourcePod] })
	byTarget := func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.Target.Node, b.Target.Node), cmp.Compare(a.Target.Name, b.Target.Name), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(said, byTarget)
	for group := range runs(said, func(a, b *Result) bool { return a.Target.Node == b.Target.Node && a.Target.Name == b.Target.Name }) {
		trouble, found := v.agree(group, now)
		switch {
		case !found:
		case trouble.Target.Node != "":
			v.Nodes = append(v.Nodes, trouble)
		default:
			v.Targets = append(v.Targets, trouble)
		}
	}
	return v
}

// runs yields the parts of a sorted list that belong together.
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

// agree returns the trouble that all results of one target, or of one source, agree on for long enough.
func (v *Verdict) agree(results []*Result, now time.Time) (Trouble, bool) {
	if slices.ContainsFunc(results, func(r *Result) bool { return r.Reachable }) {
		return Trouble{}, false
	}
	t := Trouble{Target: results[0].Target, Message: results[0].Message}
	for _, r := range results {
		t.From = append(t.From, r.SourceNode)
		if r.Since.After(t.Since) {
			t.Since = r.Since
		}
	}
	patience := Agreed
	if len(results) == 1 {
		patience = Alone
	}
	if left := patience - now.Sub(t.Since); left > 0 {
		if v.Again == 0 || left < v.Again {
			v.Again = left
		}
		return Trouble{}, false
	}
	return t, true
}

// blind finds the sources that reach none of at least two nodes, some of which others do reach, and returns their pods.
// They have no say from the first moment on, and are a trouble of their own once it has lasted.
func (v *Verdict) blind(said []*Result, reached map[string]bool, now time.Time) map[string]bool {
	nodes := slices.DeleteFunc(slices.Clone(said), func(r *Result) bool { return r.Target.Node == "" })
	slices.SortFunc(nodes, func(a, b *Result) int {
		return cmp.Or(cmp.Compare(a.SourcePod, b.SourcePod), cmp.Compare(a.Name, b.Name))
	})
	blind := map[string]bool{}
	for own := range runs(nodes, func(a, b *Result) bool { return a.SourcePod == b.SourcePod }) {
		sees := slices.ContainsFunc(own, func(r *Result) bool { return r.Reachable })
		others := slices.ContainsFunc(own, func(r *Result) bool { return reached[r.Target.Node] })
		if sees || !others || len(own) < 2 {
			continue
		}
		blind[own[0].SourcePod] = true
		if t, lasted := v.agree(own, now); lasted {
			v.Sources = append(v.Sources, Trouble{From: t.From[:1], Since: t.Since, Message: t.Message})
		}
	}
	return blind
}
