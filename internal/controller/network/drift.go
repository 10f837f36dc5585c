package network

import (
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// eventDrift is the reason of the event for objects that others have changed.
const eventDrift = "DriftRepaired"

// mostDrift is how many objects one event names; the others are counted.
const mostDrift = 8

// drifted returns which of the objects of a plan others have changed or deleted: those that were applied as they are
// wanted now, and are not any more.
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

// reportRepairs counts what was done, and makes an event of what was repaired.
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
	c.Metrics.did(written, repaired)
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	text := strings.Join(names[:min(mostDrift, len(names))], ", ")
	if more := len(names) - mostDrift; more > 0 {
		text += fmt.Sprintf(" (%d more)", more)
	}
	c.Log.Info("restored objects that other clients had modified or deleted", "objects", names)
	c.Events.Normal(network, eventDrift, "restored objects that other clients had modified or deleted: "+text)
}
