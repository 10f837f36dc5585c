package status

import (
	"slices"
	"strings"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
)

// The conditions that kstatus defines, which kubectl wait, Helm, Argo CD and Flux use.
const (
	ready       = "Ready"
	reconciling = "Reconciling"
	stalled     = "Stalled"
)

// Expected returns the message of a condition without findings. It has no numbers of nodes or pods, so that the status is not written when they change.
func Expected(conditionType string) string {
	switch {
	case conditionType == ready:
		return "The network works and matches its specification"
	case conditionType == reconciling, strings.HasSuffix(conditionType, string(Progressing)):
		return "No change is in progress"
	case conditionType == stalled, strings.HasSuffix(conditionType, string(Degraded)):
		return "No problem needs user action"
	case strings.HasSuffix(conditionType, string(NotUpgradeable)):
		return "Nothing prevents an upgrade"
	case conditionType == string(Unavailable):
		return "No component of the network is down"
	default:
		return "No critical workload of the component is down"
	}
}

// Normal returns a condition of a component without findings, without a time.
func Normal(conditionType string) osv1.OperatorCondition {
	for _, effect := range effects {
		if component, ok := strings.CutSuffix(conditionType, string(effect)); ok {
			return condition(component, effect, nil)
		}
	}
	return osv1.OperatorCondition{}
}

// IsAsExpected reports whether a condition reports nothing: neither a finding nor a note. Earlier operators left the message empty.
func IsAsExpected(c osv1.OperatorCondition) bool {
	return c.Reason == AsExpected && (c.Message == "" || c.Message == Expected(c.Type))
}

// condition returns the condition for findings of one effect; without findings it has the reason AsExpected. The reason is
// that of the first finding, and the message contains all of them.
func condition(component string, effect Effect, findings []Finding) osv1.OperatorCondition {
	good, bad := osv1.ConditionFalse, osv1.ConditionTrue
	if effect == Unavailable || effect == NotUpgradeable {
		good, bad = bad, good
	}
	c := osv1.OperatorCondition{Type: component + string(effect), Status: good, Reason: AsExpected}
	c.Message = Expected(c.Type)
	if len(findings) > 0 {
		c.Status, c.Reason, c.Message = bad, findings[0].Reason, message(findings)
	}
	return c
}

// note sets the message of Available=True of a component to its Noted findings.
func note(conditions []osv1.OperatorCondition, findings []Finding, component string) {
	var noted []Finding
	for _, f := range findings {
		if f.Effect == Noted && f.Component == component {
			noted = append(noted, f)
		}
	}
	for i := range conditions {
		if c := &conditions[i]; c.Type == component+string(Unavailable) && c.Status == osv1.ConditionTrue && len(noted) > 0 {
			c.Message = message(noted)
		}
	}
}

// componentConditions returns Available, Progressing and Degraded of a component. A component without workloads
// has Available and Progressing only while it has such findings.
func componentConditions(name string, in Input, findings []Finding) []osv1.OperatorCondition {
	hasWorkloads := slices.ContainsFunc(in.Wanted, func(w Workload) bool { return w.Component == name })
	noted := slices.ContainsFunc(findings, func(f Finding) bool { return f.Component == name && f.Effect == Noted })
	var conditions []osv1.OperatorCondition
	for _, effect := range effects[:3] {
		of := about(findings, name, effect)
		if hasWorkloads || effect == Degraded || len(of) > 0 || noted && effect == Unavailable {
			conditions = append(conditions, condition(name, effect, of))
		}
	}
	note(conditions, findings, name)
	return conditions
}

// about returns the findings about a component with an effect.
func about(findings []Finding, component string, effect Effect) []Finding {
	var found []Finding
	for _, f := range findings {
		if f.Component == component && f.Effect == effect {
			found = append(found, f)
		}
	}
	return found
}

// controllerConditions returns the conditions of the controllers that have findings.
func controllerConditions(findings []Finding) []osv1.OperatorCondition {
	var conditions []osv1.OperatorCondition
	for _, name := range controllers {
		for _, effect := range effects {
			if of := about(findings, name, effect); len(of) > 0 {
				conditions = append(conditions, condition(name, effect, of))
			}
		}
	}
	return conditions
}

// progress returns the conditions that kstatus defines. Ready means that the network matches the specification and works,
// Stalled that user action is required.
func progress(in Input, conditions []osv1.OperatorCondition, findings []Finding) []osv1.OperatorCondition {
	all := osv1.OperatorCondition{Type: ready, Status: osv1.ConditionTrue, Reason: AsExpected, Message: Expected(ready)}
	moving := osv1.OperatorCondition{Type: reconciling, Status: osv1.ConditionFalse, Reason: AsExpected, Message: Expected(reconciling)}
	for _, c := range conditions {
		bad := osv1.ConditionTrue
		switch Effect(c.Type) {
		case Unavailable:
			bad = osv1.ConditionFalse
		case Progressing:
			if c.Status == bad {
				moving.Status, moving.Reason, moving.Message = c.Status, c.Reason, c.Message
			}
		case NotUpgradeable:
			continue
		}
		if c.Status == bad && all.Status == osv1.ConditionTrue {
			all.Status, all.Reason, all.Message = osv1.ConditionFalse, c.Reason, c.Message
		}
	}
	if !in.Applied && all.Status == osv1.ConditionTrue {
		all.Status, all.Reason, all.Message = osv1.ConditionFalse, "NotApplied", "not everything that is wanted is applied"
	}
	stuck := osv1.OperatorCondition{Type: stalled, Status: osv1.ConditionFalse, Reason: AsExpected, Message: Expected(stalled)}
	var causes []Finding
	for _, f := range affecting(findings, Degraded, ofNetwork) {
		if f.Immediate {
			causes = append(causes, f)
		}
	}
	if len(causes) > 0 {
		stuck.Status, stuck.Reason, stuck.Message = osv1.ConditionTrue, causes[0].Reason, message(causes)
	}
	return []osv1.OperatorCondition{all, moving, stuck}
}

// withTimes sets the times of the last transition: now if the status has changed, else that of the previous condition.
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

// IsManaged reports whether this package decides conditions of a type; all others are not changed.
func IsManaged(conditionType string) bool {
	switch conditionType {
	case ready, reconciling, stalled:
		return true
	}
	return slices.ContainsFunc(effects[:], func(e Effect) bool { return strings.HasSuffix(conditionType, string(e)) })
}
