package facts

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/declared"
)

// Declared has the addresses that the cluster was created with, for fields that a specification omits.
type Declared struct {
	// Pods and Services are those of pods and Services; zero if the cluster does not declare them.
	Pods, Services declared.Value
	// Unavailable is the reason why nothing was read; empty if everything was.
	Unavailable string
}

// NoCluster is the Declared without a cluster.
func NoCluster() *Declared {
	return &Declared{Unavailable: "it can only be detected in a cluster (cno plan, or cno validate with --kubeconfig)"}
}

// NoRecord is the Declared of a cluster whose network is in use, although the operator's records of it are missing: what was applied may
// differ from what the cluster declares.
func NoRecord() *Declared {
	return &Declared{Unavailable: "a network is in use, and the record of it is missing, so that its value is unknown"}
}

// NoPermission is the Declared of a cluster in which an object that determines whether values may be detected cannot be read.
func NoPermission(err error) *Declared {
	return &Declared{Unavailable: fmt.Sprintf("it cannot be detected without a permission: %v", err)}
}
