package machineconfig

import (
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/status"
)

// component is the component of the controller's findings.
const component = "MachineConfig"

// Reasons of findings.
const (
	// reasonMachineConfig is the reason of a degraded or updating pool.
	reasonMachineConfig = "MachineConfig"
	// reasonPaused is the reason of a paused pool with pending changes.
	reasonPaused = "MachineConfigPoolPaused"
	// reasonNoPool is the reason of a MachineConfig that no pool selects.
	reasonNoPool = "NoMachineConfigPool"
)

// findings returns at most two findings per pool.
func findings(d decision) []status.Finding {
	var all []status.Finding
	add := func(effect status.Effect, aside bool, reason, message string, args ...any) {
		all = append(all, status.Finding{Component: component, Effect: effect, Reason: reason, Message: fmt.Sprintf(message, args...), Aside: aside})
	}
	for _, p := range d.Pools {
		if p.Degraded {
			message := p.Name + " machine config pool in degraded state"
			if p.Message != "" {
				message += ": " + p.Message
			}
			add(status.Degraded, false, reasonMachineConfig, "%s", message)
		}
		if len(p.Pending)+len(p.Removing) == 0 {
			continue
		}
		pending := strings.Join(append(p.Pending, p.Removing...), ", ")
		if p.Paused {
			// A pause is intended, so neither the network nor an upgrade waits for it.
			add(status.Progressing, true, reasonPaused, "%s machine config pool is paused and does not process %s machine config; set its spec.paused to false", p.Name, pending)
		} else {
			add(status.Progressing, false, reasonMachineConfig, "%s machine config pool is still processing %s machine config", p.Name, pending)
		}
	}
	if len(d.Unselected) > 0 {
		add(status.Degraded, true, reasonNoPool, "no machine config pool selects %s machine config, so it is applied on no node; create a pool for its role", strings.Join(d.Unselected, ", "))
	}
	return all
}
