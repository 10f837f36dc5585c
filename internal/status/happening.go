package status

import (
	"fmt"

	osv1 "github.com/openshift/api/operator/v1"
)

// Happening is something that people should be told of once.
type Happening struct {
	// Warning is true for what a person should look at.
	Warning bool
	// Reason is one CamelCase word for programs, Message a sentence for people.
	Reason, Message string
}

// tellRollout reports that the rollout of a workload has begun or is through.
func (d *Decision) tellRollout(v view, before, after Rollout) {
	switch {
	case after.Revision != "" && after.Revision != before.Revision:
		d.Happened = append(d.Happened, Happening{Reason: "RolloutStarted", Message: fmt.Sprintf("%s is rolled out: revision %s, version %s", v.Workload, after.Revision, v.Version)})
	case after.Revision == "" && after.Settled != before.Settled:
		d.Happened = append(d.Happened, Happening{Reason: "RolloutFinished", Message: fmt.Sprintf("%s runs on %d nodes: revision %s, version %s", v.Workload, v.Available, after.Settled, v.Version)})
	}
}

// tell reports which conditions have changed: of the whole that it is available or not, and that nothing is degraded any
// more; of each component that it is degraded. What the operator itself refuses is told by who refuses it.
func (d *Decision) tell(in Input) {
	before := map[string]osv1.ConditionStatus{}
	for _, c := range in.Previous {
		before[c.Type] = c.Status
	}
	for _, c := range d.Conditions {
		was, known := before[c.Type]
		if was == c.Status || !known && c.Status == good(c.Type) {
			continue
		}
		switch {
		case c.Type == string(Unavailable) && c.Status == osv1.ConditionTrue:
			d.happen(false, "Available", "the network is available")
		case c.Type == string(Unavailable) && known:
			d.happen(true, "Unavailable", c.Message)
		case c.Type == string(Degraded) && c.Status == osv1.ConditionFalse:
			d.happen(false, "Recovered", "nothing of the network is degraded any more")
		case len(c.Type) > len(Degraded) && isDegraded(c.Type) && c.Status == osv1.ConditionTrue:
			d.happen(true, c.Reason, c.Message)
		}
	}
}

func (d *Decision) happen(warning bool, reason, message string) {
	d.Happened = append(d.Happened, Happening{Warning: warning, Reason: reason, Message: message})
}

func isDegraded(conditionType string) bool {
	return conditionType[len(conditionType)-len(Degraded):] == string(Degraded)
}

// good is the status that a condition has while all is well.
func good(conditionType string) osv1.ConditionStatus {
	c := condition("", Effect(conditionType), nil)
	if conditionType == ready {
		return osv1.ConditionTrue
	}
	return c.Status
}
