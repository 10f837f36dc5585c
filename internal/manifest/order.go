package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LastRank is the rank of objects that can refuse others: they are applied after all others.
const LastRank = 12

// Rank returns the order in which objects of a kind are applied: lower ranks first, those of the same rank concurrently.
// Objects that an object needs to be accepted or to start have a lower rank. Deletion uses the reverse order.
func Rank(gk schema.GroupKind) int {
	switch gk.Group {
	case "":
		return coreRank(gk.Kind)
	case "apiextensions.k8s.io":
		return 1
	case "scheduling.k8s.io", "node.k8s.io", "storage.k8s.io":
		return 2
	case "rbac.authorization.k8s.io":
		// A binding is refused while its role is missing.
		if gk.Kind == "Role" || gk.Kind == "ClusterRole" {
			return 3
		}
		return 4
	case "networking.k8s.io", "policy":
		return 7
	case "apps", "batch":
		return 9
	case "admissionregistration.k8s.io":
		return admissionRank(gk.Kind)
	}
	return 10
}

func coreRank(kind string) int {
	switch kind {
	case "Namespace":
		return 0
	case "ServiceAccount":
		return 5
	case "ConfigMap", "Secret", "ResourceQuota", "LimitRange":
		return 6
	case "Service", "Endpoints":
		return 8
	case "Pod", "ReplicationController":
		return 9
	}
	return 10
}

func admissionRank(kind string) int {
	if kind == "ValidatingAdmissionPolicy" || kind == "MutatingAdmissionPolicy" {
		return 11
	}
	return LastRank
}

// Sorted returns the objects in the order in which they are applied. Objects of one rank keep their order.
func Sorted(objs []Object) []Object {
	sorted := slices.Clone(objs)
	slices.SortStableFunc(sorted, func(a, b Object) int {
		return Rank(a.Key().GroupKind()) - Rank(b.Key().GroupKind())
	})
	return sorted
}
