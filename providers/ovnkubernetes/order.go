package ovnkubernetes

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/operandorder"
)

// turn says which of the DaemonSets have to wait for the other. At most one has.
type turn struct {
	holdMaster, holdNode bool
	// why is a sentence for the condition; empty if none has to wait.
	why string
}

// next decides which DaemonSets may be changed now.
//
// A newer ovn-controller understands what an older ovn-northd writes, and not the other way round: in an upgrade nodes are first, and
// masters last; in a downgrade masters are first. When a pool grows, nodes are first, too: a block of the new part is not reached by nodes
// that do not know it, so that no node may get one before.
func next(master, node operandorder.Set, release, pools string) turn {
	if !master.Exists || !node.Exists {
		return turn{}
	}
	switch operandorder.Direction(release, master, node) {
	case 1: // upgrade
		if node.Version != release || !node.Done() {
			return holdMaster(node, "the new version")
		}
		return turn{}
	case -1: // downgrade
		if master.Version != release || !master.Done() {
			return turn{holdNode: true, why: fmt.Sprintf("OVN-Kubernetes waits for the previous version of %s on %d of %d nodes before it replaces %s", masterName, master.Missing, master.Nodes, nodeName)}
		}
		return turn{}
	}
	if master.Annotations[poolsAnnotation] != pools && (node.Annotations[poolsAnnotation] != pools || !node.Done()) {
		return holdMaster(node, "the larger pool")
	}
	return turn{}
}

func holdMaster(node operandorder.Set, what string) turn {
	return turn{holdMaster: true, why: fmt.Sprintf("OVN-Kubernetes waits for %s of %s on %d of %d nodes before it replaces %s", what, nodeName, node.Missing, node.Nodes, masterName)}
}
