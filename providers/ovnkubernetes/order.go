package ovnkubernetes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// rolled is one of the two DaemonSets as it runs. The zero value is one that does not exist.
type rolled struct {
	exists bool
	// version is that of the operator that rendered it, pools the cluster network that its pods know.
	version, pools string
	// missing is on how many nodes its pods are not updated and available yet, nodes that are not Ready excepted; nodes is on how many
	// they are to run.
	missing, nodes int32
}

// done reports whether every node that is Ready runs the present pods.
func (r rolled) done() bool { return r.missing == 0 }

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
func next(master, node rolled, release, pools string) turn {
	if !master.exists || !node.exists {
		return turn{}
	}
	switch newer(release, master.version, node.version) {
	case 1: // upgrade
		if node.version != release || !node.done() {
			return holdMaster(node, "the new version")
		}
		return turn{}
	case -1: // downgrade
		if master.version != release || !master.done() {
			return turn{holdNode: true, why: fmt.Sprintf("OVN-Kubernetes waits for the previous version of %s on %d of %d nodes before it replaces %s", masterName, master.missing, master.nodes, nodeName)}
		}
		return turn{}
	}
	if master.pools != pools && (node.pools != pools || !node.done()) {
		return holdMaster(node, "the larger pool")
	}
	return turn{}
}

func holdMaster(node rolled, what string) turn {
	return turn{holdMaster: true, why: fmt.Sprintf("OVN-Kubernetes waits for %s of %s on %d of %d nodes before it replaces %s", what, nodeName, node.missing, node.nodes, masterName)}
}

// newer compares a version with those that run: 1 if one of them is older, -1 if one is newer, 0 if none differs, or they cannot be
// compared.
func newer(wanted string, running ...string) int {
	next, err := version.ParseSemantic(wanted)
	if err != nil {
		return 0
	}
	for _, r := range running {
		if v, err := version.ParseSemantic(r); err == nil && !v.EqualTo(next) {
			if v.LessThan(next) {
				return 1
			}
			return -1
		}
	}
	return 0
}
