package connectivity

import (
	"cmp"
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
	results = slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return !r.Known || !ready[r.SourcePod] })
	slices.SortFunc(results, func(a, b Result) int { return cmp.Compare(a.Name, b.Name) })
	var v Verdict
	blind := v.blind(results, now)
	byTarget := map[Target][]Result{}
	var order []Target
	for _, r := range results {
		if blind[r.SourcePod] {
			continue
		}
		if byTarget[r.Target] == nil {
			order = append(order, r.Target)
		}
		byTarget[r.Target] = append(byTarget[r.Target], r)
	}
	slices.SortFunc(order, func(a, b Target) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Name, b.Name)) })
	for _, t := range order {
		trouble, found := v.agree(byTarget[t], now)
		switch {
		case !found:
		case t.Node != "":
			v.Nodes = append(v.Nodes, trouble)
		default:
			v.Targets = append(v.Targets, trouble)
		}
	}
	return v
}

// agree returns the trouble that all results of one target, or of one source, agree on for long enough.
func (v *Verdict) agree(results []Result, now time.Time) (Trouble, bool) {
	t := Trouble{Target: results[0].Target, Message: results[0].Message}
	for _, r := range results {
		if r.Reachable {
			return Trouble{}, false
		}
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
func (v *Verdict) blind(results []Result, now time.Time) map[string]bool {
	bySource, seen := map[string][]Result{}, map[string]bool{}
	var pods []string
	for _, r := range results {
		if r.Target.Node == "" {
			continue
		}
		if bySource[r.SourcePod] == nil {
			pods = append(pods, r.SourcePod)
		}
		bySource[r.SourcePod] = append(bySource[r.SourcePod], r)
		seen[r.Target.Node] = seen[r.Target.Node] || r.Reachable
	}
	blind := map[string]bool{}
	for _, pod := range pods {
		own := bySource[pod]
		reaches := slices.ContainsFunc(own, func(r Result) bool { return r.Reachable })
		others := slices.ContainsFunc(own, func(r Result) bool { return seen[r.Target.Node] })
		if reaches || !others || len(own) < 2 {
			continue
		}
		blind[pod] = true
		if t, lasted := v.agree(own, now); lasted {
			v.Sources = append(v.Sources, Trouble{From: t.From[:1], Since: t.Since, Message: t.Message})
		}
	}
	return blind
}
