package network

import (
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// waiting is a flag that the loop sets and the watches read.
type waiting struct{ atomic.Bool }

// OperandChanged starts a pass if the change of an operand asks for one. spec is false if only its status has
// changed, which matters only while something waits for it.
func (c *Controller) OperandChanged(spec bool) {
	if spec || c.waiting.Load() {
		c.Changed.Fire()
	}
}

// concerns reports whether a ConfigMap may change what is to be applied: the record and the MTU of the nodes in
// the operator's namespace, and in others whatever providers observe.
func (c *Controller) concerns(o client.Object) bool {
	return o.GetNamespace() != c.Namespace || o.GetName() != applied.HistoryConfigMapName && o.GetName() != plan.InventoryName
}

// nodeChanged lets through what facts are made of.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, also := e.ObjectNew.(*corev1.Node)
		return !ok || !also || isControlPlane(before) != isControlPlane(after) || !slices.Equal(addresses(before), addresses(after)) ||
			before.Status.NodeInfo.KernelVersion != after.Status.NodeInfo.KernelVersion
	}}
}
