package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// judge looks at the workloads of all components and returns what they give rise to. It adds to the
// decision when to look again, and what is remembered of workloads.
func judge(in Input, d *Decision) []Finding {
	live := map[string]Live{}
	for _, l := range in.Live {
		live[l.id()] = l
	}
	var findings []Finding
	var views []view
	for _, w := range in.Wanted {
		l, exists := live[w.id()]
		l.Workload = w
		v := d.follow(in, l, exists)
		views = append(views, v)
		findings = append(findings, v.findings(d)...)
	}
	d.forget(in)
	return append(findings, unavailable(in, d, views)...)
}

// follow notes how far the rollout of a workload is.
func (d *Decision) follow(in Input, l Live, exists bool) view {
	v := view{Live: l, now: in.Now, deadline: cmp.Or(in.Deadline, hungAfter), exists: exists, installed: wasAvailable(in, l.Component)}
	if !exists {
		return v
	}
	var again time.Duration
	v.troubled, again = troubled(l.Pods, in.Now)
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
		if r.Since.After(in.Now) { // a clock was set back
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
	d.tellRollout(v, before, r)
	return v
}

// identity is the part of a workload that tells it from others.
func identity(w Workload) Workload {
	return Workload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

// findings are those of one workload.
func (v view) findings(d *Decision) []Finding {
	var findings []Finding
	finding := func(s state, message string) Finding {
		return Finding{Component: v.Component, Effect: s.Effect, Reason: s.Reason, Message: v.Workload.String() + " " + message,
			Aside: v.NonCritical, Subject: v.id()}
	}
	on, message, moving := first(waiting(), v, d)
	trouble, why, ill := first(troubling(), v, d)
	if moving {
		if len(v.troubled) > 0 && trouble.Reason != RolloutHung {
			message += ": " + describe(v.troubled)
		}
		if v.Refused != "" {
			message += ": its pods cannot be created: " + v.Refused
		}
		findings = append(findings, finding(on, message))
	}
	if !ill {
		return findings
	}
	f := finding(trouble, why)
	if trouble.Reason != RolloutHung {
		f.Since = troubledSince(v.counted)
		return append(findings, f)
	}
	f.Immediate = true
	d.Stuck = append(d.Stuck, identity(v.Workload))
	if d.Hung = strings.TrimPrefix(d.Hung+"; "+f.Message, "; "); len(d.Hung) > longestLine {
		d.Hung = shorten(d.Hung)
	}
	no := f
	no.Effect = NotUpgradeable
	return append(findings, f, no)
}

// first returns the first of some states that holds for a workload.
func first(states []state, v view, d *Decision) (state, string, bool) {
	for _, s := range states {
		message, yes, again := s.holds(v)
		d.again(again)
		if yes {
			return s, message, true
		}
	}
	return state{}, "", false
}

// downSince is since when a workload that is down has been so.
func (v view) downSince(in Input, d *Decision) time.Time {
	return in.since(d, "down/"+v.id(), v.wentDown())
}

// unavailable finds the components that do not work: a critical DaemonSet of theirs has no available pod, or
// none of their critical Deployments has. (One Deployment of several may be down: it is one member of many.) What has
// never worked is no news.
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
