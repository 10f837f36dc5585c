package furthernetworks

import (
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/multinet/finding"
)

// reportChanged passes pods whose report has changed.
func reportChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[finding.Annotation] != e.ObjectNew.GetAnnotations()[finding.Annotation]
	}}
}
