package network

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/status"
)

// OperandChanged starts a reconcile if the change of an operand requires one. spec is false if only the status has changed, which matters
// only while the controller waits for workloads.
func (c *Controller) OperandChanged(spec bool) {
	if spec || c.waiting.Load() {
		c.Changed.Fire()
	}
}

// configMapChanged passes ConfigMaps that may change the objects to apply: the record and the settled MTU in the operator's namespace, and
// those in other namespaces that providers observe. The controller's own writes are dropped.
func (c *Controller) configMapChanged() predicate.Predicate {
	relevant := func(o client.Object) bool {
		key := manifest.Key{Kind: "ConfigMap", Namespace: o.GetNamespace(), Name: o.GetName()}
		return o.GetNamespace() != c.Namespace || o.GetName() != applied.HistoryConfigMapName && o.GetName() != plan.InventoryName && o.GetName() != facts.ConfigMapName &&
			o.GetName() != status.ConfigMapName && c.api.newest(key) != version(o.GetResourceVersion())
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return relevant(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.ConfigMap)
			after, okAfter := e.ObjectNew.(*corev1.ConfigMap)
			if ok && okAfter && after.Namespace == c.Namespace && after.Name == hostmtu.ConfigMap {
				return hostmtu.Settled(before.Data) != hostmtu.Settled(after.Data) || !slices.Equal(hostmtu.Interfaces(before.Data), hostmtu.Interfaces(after.Data))
			}
			return relevant(e.ObjectNew)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			return e.Object.GetName() != applied.HistoryConfigMapName && e.Object.GetName() != status.ConfigMapName
		},
	}
}

// networkChanged passes changes of the specification, and of the annotations for acknowledgement and pause.
func networkChanged() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
			return slices.ContainsFunc([]string{pipeline.AcknowledgeAnnotation, pipeline.PausedAnnotation, pipeline.AllowUnsafeAnnotation},
				func(name string) bool { return before[name] != after[name] })
		},
	})
}

// nodeChanged passes changes of nodes that affect the facts.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, okAfter := e.ObjectNew.(*corev1.Node)
		return !ok || !okAfter || isControlPlane(before) != isControlPlane(after) || !slices.Equal(addresses(before), addresses(after)) ||
			before.Status.NodeInfo.KernelVersion != after.Status.NodeInfo.KernelVersion
	}}
}
