package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// RolledOut reports whether all pods of a workload are of its current revision and available, or describes what is
// missing. Other objects always count as rolled out.
func RolledOut(live *unstructured.Unstructured) (bool, string) {
	key := manifest.KeyOf(live)
	if !manifest.IsWorkload(key.GroupKind()) {
		return true, ""
	}
	if number(live, 0, "status", "observedGeneration") < live.GetGeneration() {
		return false, fmt.Sprintf("%s: its latest change was not noticed yet", key)
	}
	wanted, updated := number(live, 1, "spec", "replicas"), number(live, 0, "status", "updatedReplicas")
	available := number(live, 0, "status", "availableReplicas")
	if key.Kind == "DaemonSet" {
		wanted, updated = number(live, 0, "status", "desiredNumberScheduled"), number(live, 0, "status", "updatedNumberScheduled")
		available = number(live, 0, "status", "numberAvailable")
	}
	switch {
	case updated < wanted:
		return false, fmt.Sprintf("%s: %d of %d pods are up to date", key, updated, wanted)
	case available < wanted:
		return false, fmt.Sprintf("%s: %d of %d pods are available", key, available, wanted)
	}
	return true, ""
}

// number returns an integer field, or unset if it does not exist.
func number(u *unstructured.Unstructured, unset int64, path ...string) int64 {
	n, found, err := unstructured.NestedInt64(u.Object, path...)
	if !found || err != nil {
		return unset
	}
	return n
}
