package status

import (
	"slices"
	"strings"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
)

// AsExpected is the reason of every condition that has the value it should have.
const AsExpected = "AsExpected"

// Reasons that are looked at again when the next status is decided.
const (
	reasonStartup = "Startup"
	reasonDown    = "WorkloadDown"
)

// Decide returns the conditions for an input.
func Decide(in Input) Decision {
	d := Decision{DownSince: map[Workload]time.Time{}}
	findings := slices.Concat(in.Findings, judge(in, &d))
	findings = append(findings, starting(in, findings)...)

	conditions := []osv1.OperatorCondition{
		condition("", Unavailable, network(findings, Unavailable)),
		condition("", Progressing, network(findings, Progressing)),
		condition("", Degraded, network(findings, Degraded)),
		condition("", NotUpgradeable, network(findings, NotUpgradeable)),
	}
	for _, name := range components(in) {
		conditions = append(conditions, componentConditions(name, in, findings)...)
	}
	d.Conditions = withTimes(conditions, in.Previous, in.Now)
	d.AtVersion = atVersion(in, findings)
	return d
}

// again notes that the answer may change after some time; 0 is ignored.
func (d *Decision) again(after time.Duration) {
	if after > 0 && (d.Again == 0 || after < d.Again) {
		d.Again = after
	}
}

// starting are the findings of a network that has never been available and is not yet, and of rendered components
// of which that is so.
func starting(in Input, findings []Finding) []Finding {
	var found []Finding
	if !wasAvailable(in, "") && !(in.Applied && len(network(findings, Progressing)) == 0 && len(network(findings, Unavailable)) == 0) {
		found = append(found, Finding{Effect: Unavailable, Reason: reasonStartup, Message: "The network is starting up"})
	}
	for _, name := range in.Components {
		moving := slices.ContainsFunc(findings, func(f Finding) bool { return f.Component == name && f.Effect == Progressing })
		if moving && !wasAvailable(in, name) {
			found = append(found, Finding{Component: name, Effect: Unavailable, Reason: reasonStartup, Message: name + " is starting up", Aside: true})
		}
	}
	return found
}

// wasAvailable reports whether a component, or the network itself, has been available at some time.
func wasAvailable(in Input, component string) bool {
	return slices.ContainsFunc(in.Previous, func(c osv1.OperatorCondition) bool {
		return c.Type == component+string(Unavailable) && (c.Status == osv1.ConditionTrue || c.Reason == reasonDown)
	})
}

// network returns the findings that bear on a condition of the network as a whole, the operator's own first.
func network(findings []Finding, effect Effect) []Finding {
	var own, others []Finding
	for _, f := range findings {
		switch {
		case f.Effect != effect || f.Aside:
		case f.Component == "":
			own = append(own, f)
		default:
			others = append(others, f)
		}
	}
	return append(own, others...)
}

// components returns the names of all components, sorted.
func components(in Input) []string {
	names := slices.Clone(in.Components)
	for _, w := range in.Wanted {
		names = append(names, w.Component)
	}
	for _, f := range in.Findings {
		names = append(names, f.Component)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// componentConditions are Available, Progressing and Degraded of a component. A component without workloads
// has Available and Progressing only while there is something to say.
func componentConditions(name string, in Input, findings []Finding) []osv1.OperatorCondition {
	hasWorkloads := slices.ContainsFunc(in.Wanted, func(w Workload) bool { return w.Component == name })
	var conditions []osv1.OperatorCondition
	for _, effect := range []Effect{Unavailable, Progressing, Degraded} {
		var of []Finding
		for _, f := range findings {
			if f.Component == name && f.Effect == effect {
				of = append(of, f)
			}
		}
		if hasWorkloads || effect == Degraded || len(of) > 0 {
			conditions = append(conditions, condition(name, effect, of))
		}
	}
	return conditions
}

// condition makes the condition for findings of one effect: none means that all is well. The reason is that
// of the first, the message has all of them.
func condition(component string, effect Effect, findings []Finding) osv1.OperatorCondition {
	good, bad := osv1.ConditionFalse, osv1.ConditionTrue
	if effect == Unavailable || effect == NotUpgradeable {
		good, bad = bad, good
	}
	c := osv1.OperatorCondition{Type: component + string(effect), Status: good, Reason: AsExpected}
	if len(findings) == 0 {
		return c
	}
	c.Status, c.Reason = bad, findings[0].Reason
	var lines []string
	for _, f := range findings {
		if !slices.Contains(lines, f.Message) {
			lines = append(lines, f.Message)
		}
	}
	c.Message = strings.Join(lines, "\n")
	return c
}

// withTimes sets the times of transition: now where the status is new, else that of the previous condition.
func withTimes(conditions, previous []osv1.OperatorCondition, now time.Time) []osv1.OperatorCondition {
	for i := range conditions {
		c := &conditions[i]
		c.LastTransitionTime.Time = now.UTC().Truncate(time.Second)
		for _, p := range previous {
			if p.Type == c.Type && p.Status == c.Status && !p.LastTransitionTime.IsZero() {
				c.LastTransitionTime = p.LastTransitionTime
			}
		}
	}
	return conditions
}

// atVersion reports whether every workload runs in the operator's version and nothing critical moves.
func atVersion(in Input, findings []Finding) bool {
	if !in.Applied || len(network(findings, Progressing)) > 0 {
		return false
	}
	for _, l := range in.Live {
		if l.Version != in.Version {
			return false
		}
	}
	return true
}
