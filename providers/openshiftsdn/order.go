package openshiftsdn

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/operandorder"
)

// turn says which DaemonSets have to wait for another one.
type turn struct {
	hold map[string]bool
	// why is a sentence for the condition; empty if none has to wait.
	why string
}

// next decides which DaemonSets may be changed now. They are in the order of an upgrade: Open vSwitch, the agents, the controller. A newer
// agent understands what an older controller wrote, and an older agent nothing newer: so agents are replaced before the controller in an
// upgrade, and after it in a downgrade. Open vSwitch is first in an upgrade, since newer agents may use what only a newer one has. A
// DaemonSet whose template is the same in both versions has nothing to replace, and holds up none.
func next(sets []operandorder.Set, release string) turn {
	order := sets
	switch operandorder.Direction(release, sets...) {
	case 0:
		return turn{}
	case -1:
		order = make([]operandorder.Set, len(sets))
		for i, s := range sets {
			order[len(sets)-1-i] = s
		}
	}
	t := turn{hold: map[string]bool{}}
	var blocker *operandorder.Set
	for i := range order {
		s := &order[i]
		if !s.Exists {
			continue // it is created, or is not part of this configuration
		}
		if blocker != nil {
			t.hold[s.Name] = true
			continue
		}
		if s.Version != release || !s.Done() {
			blocker = s
		}
	}
	for _, s := range order {
		if t.hold[s.Name] {
			missing := blocker.Missing
			if blocker.Version != release {
				missing = blocker.Nodes
			}
			t.why = fmt.Sprintf("OpenShift SDN waits for version %s of %s on %d of %d nodes before it replaces %s", release, blocker.Name, missing, blocker.Nodes, s.Name)
			break
		}
	}
	return t
}
