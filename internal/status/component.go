package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// workloadFindings returns the findings about the workloads of all components. It adds the time of the next decision and
// the memory of workloads to the decision.
func workloadFindings(in Input, d *Decision) []Finding {
	live := map[string]Live{}
	for _, l := range in.Live {
		live[l.id()] = l
	}
	var findings []Finding
	var views []view
	for _, w := range in.Wanted {
		l, exists := live[w.id()]
		l.Workload = w
		v := d.observeRollout(in, l, exists)
		views = append(views, v)
		findings = append(findings, v.findings(d)...)
	}
	d.forget(in)
	return append(findings, unavailable(in, d, views)...)
}

// observeRollout returns the view of a workload and records the progress of its rollout.
func (d *Decision) observeRollout(in Input, l Live, exists bool) view {
	v := view{Live: l, now: in.Now, deadline: cmp.Or(in.Deadline, stalledAfter), exists: exists, installed: wasAvailable(in, l.Component)}
	if !exists {
		return v
	}
	var again time.Duration
	v.failing, again = withProblems(l.Pods, in.Now)
	d.again(again)
	before, known := in.Memory.Rollouts[l.id()]
	r := before
	if r.Settled != l.Revision {
		if r.Revision != l.Revision {
			r = Rollout{Settled: r.Settled, Revision: l.Revision, Since: in.Now}
			if !known && !l.Changed.IsZero() && l.Changed.Before(in.Now) {
				r.Since = l.Changed
			}
		}
		if r.Since.After(in.Now) { // the clock was set back
			r.Since = in.Now
		}
		r.advance(l, in.Now)
		v.rolling, v.since, v.advanced = true, r.Since, r.Advanced
		if l.settled() {
			v.rolling, r = false, Rollout{Settled: l.Revision}
		}
	} else {
		r = Rollout{Settled: l.Revision}
	}
	d.Memory.Rollouts[l.id()] = r
	if v.rolling {
		d.Rolling[identity(l.Workload)] = v.since
	}
	v.counted, again = v.count()
	d.again(again)
	d.addRolloutEvents(v, before, r)
	return v
}

// identity returns the part of a workload that identifies it.
func identity(w Workload) Workload {
	return Workload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

// findings returns the findings about one workload.
func (v view) findings(d *Decision) []Finding {
	var findings []Finding
	finding := func(s state, message string) Finding {
		return Finding{Component: v.Component, Effect: s.Effect, Reason: s.Reason, Message: v.Workload.String() + " " + message,
			Aside: v.NonCritical, Subject: v.id()}
	}
	progress, message, progressing := first(progressingStates(), v, d)
	problem, why, degraded := first(degradedStates(), v, d)
	if progressing {
		if len(v.failing) > 0 && problem.Reason != RolloutHung {
			message += ": " + Describe(v.failing)
		}
		if v.Refused != "" {
			message += ": its pods cannot be created: " + v.Refused
		}
		findings = append(findings, finding(progress, message))
	}
	if !degraded {
		return findings
	}
	f := finding(problem, why)
	if problem.Reason != RolloutHung {
		f.Since = problemSince(v.counted)
		return append(findings, f)
	}
	f.Immediate = true
	d.StalledWorkloads = append(d.StalledWorkloads, identity(v.Workload))
	if d.Stalled = strings.TrimPrefix(d.Stalled+"; "+f.Message, "; "); len(d.Stalled) > longestLine {
		d.Stalled = shorten(d.Stalled)
	}
	no := f
	no.Effect = NotUpgradeable
	return append(findings, f, no)
}

// first returns the first of the states that holds for a workload.
func first(states []state, v view, d *Decision) (state, string, bool) {
	for _, s := range states {
		message, ok, again := s.holds(v)
		d.again(again)
		if ok {
			return s, message, true
		}
	}
	return state{}, "", false
}

// downSince returns the time since which a workload is down.
func (v view) downSince(in Input, d *Decision) time.Time {
	return in.since(d, "down/"+v.id(), v.wentDown())
}

// unavailable returns findings about components that are down: a critical DaemonSet of the component has no available pod,
// or none of its critical Deployments has one. (One Deployment of several may be down.) It skips components that have never
// been available.
func unavailable(in Input, d *Decision, views []view) []Finding {
	var findings []Finding
	type group struct {
		since time.Time
		names []string
		alive bool
	}
	deployments := map[string]*group{}
	var order []string
	report := func(component string, since time.Time, names string) {
		if left := downAfter - in.Now.Sub(since); left > 0 {
			d.again(left)
			return
		}
		findings = append(findings, Finding{Component: component, Effect: Unavailable, Reason: reasonDown,
			Message: fmt.Sprintf("%s has had no available pod since %s", names, since.UTC().Format(time.RFC3339))})
	}
	for _, v := range views {
		if v.NonCritical || !v.installed {
			continue
		}
		down := v.down()
		var since time.Time
		if down {
			since = v.downSince(in, d)
		}
		if v.Kind != "Deployment" {
			if down {
				report(v.Component, since, v.Workload.String())
			}
			continue
		}
		g := deployments[v.Component]
		if g == nil {
			g = &group{}
			deployments[v.Component] = g
			order = append(order, v.Component)
		}
		g.alive = g.alive || !down && v.Desired > 0
		g.names = append(g.names, v.Workload.String())
		if since.After(g.since) {
			g.since = since
		}
	}
	for _, component := range order {
		if g := deployments[component]; !g.alive && !g.since.IsZero() {
			report(component, g.since, strings.Join(g.names, " and "))
		}
	}
	return findings
}
