package openshiftsdn

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/operandorder"
)

// turn has the DaemonSets that must wait for another one.
type turn struct {
	hold map[string]bool
	// why is a sentence for the condition; empty if no DaemonSet waits.
	why string
}

// next decides which DaemonSets may be changed now. sets are in upgrade order: Open vSwitch, the agents, the controller. A newer agent understands the output
// of an older controller, but not the reverse: agents are replaced before the controller in an upgrade, and after it in a downgrade. Open vSwitch comes first
// in an upgrade, since newer agents may need features of the newer version. A DaemonSet with the same template in both versions does not block others.
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
			continue // it is about to be created, or is not part of this configuration
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
