package machineconfig

import (
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/status"
)

// component is the part of the network that the findings are about.
const component = "MachineConfig"

// Reasons of findings.
const (
	// reasonMachineConfig is that of a pool that is degraded or still busy.
	reasonMachineConfig = "MachineConfig"
	// reasonPaused is that of a pool that would be busy if it were not paused.
	reasonPaused = "MachineConfigPoolPaused"
	// reasonNoPool is that of a MachineConfig that no pool takes.
	reasonNoPool = "NoMachineConfigPool"
)

// findings says what there is to say, at most two sentences a pool.
func findings(d decision) []status.Finding {
	var all []status.Finding
	add := func(effect status.Effect, aside bool, reason, message string, args ...any) {
		all = append(all, status.Finding{Component: component, Effect: effect, Reason: reason, Message: fmt.Sprintf(message, args...), Aside: aside})
	}
	for _, p := range d.Pools {
		if p.Degraded {
			message := p.Name + " machine config pool in degraded state"
			if p.Why != "" {
				message += ": " + p.Why
			}
			add(status.Degraded, false, reasonMachineConfig, "%s", message)
		}
		if len(p.Lacks)+len(p.Keeps) == 0 {
			continue
		}
		pending := strings.Join(append(p.Lacks, p.Keeps...), ", ")
		if p.Paused {
			// Someone wants it so, and the network does not wait for it; an upgrade must not, either.
			add(status.Progressing, true, reasonPaused, "%s machine config pool is paused and does not process %s machine config; set its spec.paused to false", p.Name, pending)
		} else {
			add(status.Progressing, false, reasonMachineConfig, "%s machine config pool is still processing %s machine config", p.Name, pending)
		}
	}
	if len(d.Homeless) > 0 {
		add(status.Degraded, true, reasonNoPool, "no machine config pool selects %s machine config, so that it reaches no node; create a pool for its role", strings.Join(d.Homeless, ", "))
	}
	return all
}
