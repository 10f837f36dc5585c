package status

import (
	"fmt"

	osv1 "github.com/openshift/api/operator/v1"
)

// Event is an event to record once.
type Event struct {
	// Warning is true for the event type Warning, false for Normal.
	Warning bool
	// Reason is a CamelCase identifier, Message a sentence.
	Reason, Message string
}

// addRolloutEvents adds events if the rollout of a workload has started or finished.
func (d *Decision) addRolloutEvents(v view, before, after Rollout) {
	switch {
	case after.Revision != "" && after.Revision != before.Revision:
		d.Events = append(d.Events, Event{Reason: "RolloutStarted", Message: fmt.Sprintf("%s is rolled out: revision %s, version %s", v.Workload, after.Revision, v.Version)})
	case after.Revision == "" && after.Settled != before.Settled:
		d.Events = append(d.Events, Event{Reason: "RolloutFinished", Message: fmt.Sprintf("%s runs on %d nodes: revision %s, version %s", v.Workload, v.Available, after.Settled, v.Version)})
	}
}

// addEvents adds events for conditions that have changed: for the network, that it is available or unavailable, and that nothing is
// degraded any more; for each component, that it is degraded. The controllers that refuse a configuration report that themselves.
func (d *Decision) addEvents(in Input) {
	before := map[string]osv1.ConditionStatus{}
	for _, c := range in.Previous {
		before[c.Type] = c.Status
	}
	for _, c := range d.Conditions {
		status, known := before[c.Type]
		if status == c.Status || !known && c.Status == good(c.Type) {
			continue
		}
		switch {
		case c.Type == string(Unavailable) && c.Status == osv1.ConditionTrue:
			d.event(false, "Available", "the network is available")
		case c.Type == string(Unavailable) && known:
			d.event(true, "Unavailable", c.Message)
		case c.Type == string(Degraded) && c.Status == osv1.ConditionFalse:
			d.event(false, "Recovered", "nothing of the network is degraded any more")
		case len(c.Type) > len(Degraded) && isDegraded(c.Type) && c.Status == osv1.ConditionTrue:
			d.event(true, c.Reason, c.Message)
		}
	}
}

func (d *Decision) event(warning bool, reason, message string) {
	d.Events = append(d.Events, Event{Warning: warning, Reason: reason, Message: message})
}

func isDegraded(conditionType string) bool {
	return conditionType[len(conditionType)-len(Degraded):] == string(Degraded)
}

// good returns the status that a condition has without findings.
func good(conditionType string) osv1.ConditionStatus {
	c := condition("", Effect(conditionType), nil)
	if conditionType == ready {
		return osv1.ConditionTrue
	}
	return c.Status
}
