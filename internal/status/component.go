package status

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// judge looks at the workloads of all components and returns what they give rise to. It adds to the
// decision when to look again and what is down.
func judge(in Input, d *Decision) []Finding {
	var findings []Finding
	live := map[Workload]Live{}
	for _, l := range in.Live {
		live[identity(l.Workload)] = l
	}
	for _, w := range in.Wanted {
		l, exists := live[identity(w)]
		if !exists {
			findings = append(findings, Finding{Component: w.Component, Effect: Progressing, Reason: "Deploying",
				Message: fmt.Sprintf("%s does not exist yet", w)})
			l = Live{Desired: 1}
		}
		l.Workload = w
		if exists {
			findings = append(findings, l.findings(in.Now, d)...)
		}
		if l.down() {
			d.DownSince[identity(w)] = downSince(in, l)
		}
	}
	return append(findings, unavailable(in, d, live)...)
}

// identity is the part of a workload that tells it from others.
func identity(w Workload) Workload {
	return Workload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

// findings are those of one workload that exists.
func (l Live) findings(now time.Time, d *Decision) []Finding {
	var findings []Finding
	if text := l.moving(); text != "" {
		findings = append(findings, Finding{Component: l.Component, Effect: Progressing, Reason: "Deploying", Message: text, Aside: l.NonCritical})
	}
	hung, left := l.hung(now)
	d.again(left)
	if hung {
		text := fmt.Sprintf("%s rollout is not making progress - last change %s", l.Workload, l.lastChange().UTC().Format(time.RFC3339))
		if why := describe(l.Pods); len(why) > 0 {
			text += ": " + strings.Join(why, "; ")
		}
		return append(findings,
			Finding{Component: l.Component, Effect: Degraded, Reason: "RolloutHung", Message: text},
			Finding{Component: l.Component, Effect: NotUpgradeable, Reason: "RolloutHung", Message: text})
	}
	var troubled []Pod
	for _, p := range l.Pods {
		settled, left := p.settled(now)
		d.again(left)
		if settled {
			troubled = append(troubled, p)
		}
	}
	if len(troubled) > 0 {
		slices.SortStableFunc(troubled, func(a, b Pod) int {
			return slices.Index(troubles[:], a.Trouble) - slices.Index(troubles[:], b.Trouble)
		})
		findings = append(findings, Finding{Component: l.Component, Effect: Degraded, Reason: string(troubled[0].Trouble), Aside: l.NonCritical,
			Message: fmt.Sprintf("%s rollout is not making progress - %s", l.Workload, strings.Join(describe(troubled), "; "))})
	}
	return findings
}

// downSince is since when a workload that is down has been so.
func downSince(in Input, l Live) time.Time {
	if since, known := in.DownSince[identity(l.Workload)]; known {
		return since
	}
	if since := l.wentDown(); !since.IsZero() && since.Before(in.Now) {
		return since
	}
	return in.Now
}

// unavailable finds the components that do not work: a critical DaemonSet of theirs has no available pod, or
// none of their critical Deployments has. (One Deployment of several may be down: it is one member of many.)
func unavailable(in Input, d *Decision, live map[Workload]Live) []Finding {
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
	for _, w := range in.Wanted {
		if w.NonCritical {
			continue
		}
		since, down := d.DownSince[identity(w)]
		if w.Kind != "Deployment" {
			if down {
				report(w.Component, since, w.String())
			}
			continue
		}
		g := deployments[w.Component]
		if g == nil {
			g = &group{}
			deployments[w.Component] = g
			order = append(order, w.Component)
		}
		g.alive = g.alive || !down && live[identity(w)].Desired > 0
		g.names = append(g.names, w.String())
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
