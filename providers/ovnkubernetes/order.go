package ovnkubernetes

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/operandorder"
)

// turn has the DaemonSets that must wait for the other one, at most one.
type turn struct {
	holdMaster, holdNode bool
	// why is a sentence for the condition; empty if no DaemonSet waits.
	why string
}

// next decides which DaemonSets may be changed now.
//
// A newer ovn-controller understands the output of an older ovn-northd, but not the reverse: in an upgrade nodes are first, in a downgrade masters. When
// pools change, nodes are first, too: nodes that do not know the new part of a pool, or the pool of another family, do not reach its blocks, so that no node may
// get one before. When a family is removed, the order does not matter.
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
		return holdMaster(node, "the changed pools")
	}
	return turn{}
}

func holdMaster(node operandorder.Set, what string) turn {
	return turn{holdMaster: true, why: fmt.Sprintf("OVN-Kubernetes waits for %s of %s on %d of %d nodes before it replaces %s", what, nodeName, node.Missing, node.Nodes, masterName)}
}
