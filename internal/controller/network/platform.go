package network

import (
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/facts"
)

// PlatformName is the name of the controller that watches the platform, in logs.
const PlatformName = Name + "/platform"

// infrastructureName is the name of the Infrastructure of a cluster.
const infrastructureName = "cluster"

// kindInfrastructure returns the kind that has the platform of a cluster.
func kindInfrastructure() schema.GroupKind {
	return schema.GroupKind{Group: configv1.GroupName, Kind: "Infrastructure"}
}

func platformChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*configv1.Infrastructure)
		after, okAfter := e.ObjectNew.(*configv1.Infrastructure)
		return !ok || !okAfter || facts.Platform(before) != facts.Platform(after) || before.Generation != after.Generation
	}}
}
