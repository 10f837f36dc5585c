package network

import (
	"slices"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// eventDrift is the reason of the event for restored objects.
const eventDrift = "DriftRepaired"

// maxDrift is the maximum number of objects that an event lists; the rest is counted.
const maxDrift = 8

// drifted returns the objects of a plan that other clients have modified or deleted: they were applied with the desired content, and differ
// now.
func (c *Controller) drifted(inventory plan.Inventory, todo plan.Plan) map[manifest.Key]bool {
	applied := map[manifest.Key]bool{}
	for _, e := range inventory {
		applied[e.Key] = true
	}
	found := map[manifest.Key]bool{}
	for _, a := range todo.Actions {
		switch a.Verb {
		case plan.Create:
			found[a.Key] = applied[a.Key]
		case plan.Apply, plan.Recreate:
			live, exists := c.Operands.Live(a.Key)
			found[a.Key] = exists && live.GetAnnotations()[manifest.AnnotationHash] == manifest.Hash(a.Object)
		}
	}
	return found
}

// reportRepairs counts actions, and records an event for repaired objects.
func (c *Controller) reportRepairs(network *operatorv1.Network, outcomes []apply.Outcome, drifted map[manifest.Key]bool) {
	var written, repaired []plan.Action
	var names []string
	for _, o := range outcomes {
		if o.Err != nil || !o.Writes() && o.Verb != plan.Delete {
			continue
		}
		written = append(written, o.Action)
		if drifted[o.Key] {
			repaired = append(repaired, o.Action)
			names = append(names, o.Key.String())
		}
	}
	c.Metrics.countActions(written, repaired)
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	c.Log.Info("restored objects that other clients had modified or deleted", "objects", names)
	c.Events.Normal(network, eventDrift, "restored objects that other clients had modified or deleted: "+phrase.Names(names, maxDrift))
}
