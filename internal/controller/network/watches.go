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

// OperandChanged starts a reconcile if the change of an operand requires one. spec is false if only its status has
// changed, which matters only while something waits for it.
func (c *Controller) OperandChanged(spec bool) {
	if spec || c.waiting.Load() {
		c.Changed.Fire()
	}
}

// configMapChanged lets through ConfigMaps that may change what is to be applied: the record and the MTU that was
// settled in the operator's namespace, and in others whatever providers observe. What was written here is no news.
func (c *Controller) configMapChanged() predicate.Predicate {
	news := func(o client.Object) bool {
		key := manifest.Key{Kind: "ConfigMap", Namespace: o.GetNamespace(), Name: o.GetName()}
		return o.GetNamespace() != c.Namespace || o.GetName() != applied.HistoryConfigMapName && o.GetName() != plan.InventoryName && o.GetName() != facts.ConfigMapName &&
			o.GetName() != status.ConfigMapName && c.api.newest(key) != version(o.GetResourceVersion())
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return news(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.ConfigMap)
			after, also := e.ObjectNew.(*corev1.ConfigMap)
			if ok && also && after.Namespace == c.Namespace && after.Name == hostmtu.ConfigMap {
				return hostmtu.Settled(before.Data) != hostmtu.Settled(after.Data) || !slices.Equal(hostmtu.Interfaces(before.Data), hostmtu.Interfaces(after.Data))
			}
			return news(e.ObjectNew)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			return e.Object.GetName() != applied.HistoryConfigMapName && e.Object.GetName() != status.ConfigMapName
		},
	}
}

// networkChanged lets through a new specification, a new acknowledgement of one, and whether all is paused.
func networkChanged() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
			return slices.ContainsFunc([]string{pipeline.AcknowledgeAnnotation, pipeline.PausedAnnotation, pipeline.AllowUnsafeAnnotation},
				func(name string) bool { return before[name] != after[name] })
		},
	})
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
