package network

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/rollout"
)

// planned are the missing changes.
type planned struct {
	// objects are the objects to apply now: DaemonSets have the partition of their rollout step.
	objects []manifest.Object
	todo    plan.Plan
	// later is the time until another reconcile may be needed without an event; 0 means never.
	later time.Duration
}

// plan compares desired and live objects.
func (c *Controller) plan(ctx context.Context, g *gathered, ch *chosen) (planned, error) {
	if err := c.Operands.Watch(ctx, operands(g, ch)); err != nil {
		return planned{}, err
	}
	p, err := c.gate(ctx, ch.desired)
	if err != nil {
		return planned{}, err
	}
	p.todo, err = plan.Make(plan.Input{
		Desired: p.objects, Live: c.Operands.Live, Inventory: g.memory.inventory,
		Serves: c.Operands.Serves, Incomplete: ch.incomplete(),
	})
	if err != nil {
		return planned{}, err
	}
	p.later = sooner(p.later, c.backOff(ctx, &p.todo))
	return p, nil
}

// operands returns all objects that are desired or were applied.
func operands(g *gathered, ch *chosen) []Operand {
	var all []Operand
	for _, o := range ch.desired {
		all = append(all, Operand{o.Key(), o.Object.GroupVersionKind().Version})
	}
	for _, e := range g.memory.inventory {
		all = append(all, Operand{e.Key, e.Version})
	}
	return all
}

// gate limits the number of nodes on which a DaemonSet is updated concurrently.
func (c *Controller) gate(ctx context.Context, desired []manifest.Object) (planned, error) {
	p := planned{objects: slices.Clone(desired)}
	down, err := c.nodesNotResponding(ctx)
	if err != nil {
		return p, err
	}
	for i, o := range p.objects {
		live, found := c.Operands.Live(o.Key())
		if !found || o.Object.GetKind() != "DaemonSet" {
			continue
		}
		pods, err := c.pods(ctx, live)
		if err != nil {
			return p, err
		}
		var requeueAfter time.Duration
		p.objects[i], requeueAfter = rollout.Gate(rollout.Observation{Wanted: o, Live: live, Pods: pods, Unreachable: down, Stalled: c.Board.Stalled() != "", Now: c.Now()})
		p.later = sooner(p.later, requeueAfter)
	}
	return p, nil
}

// pods reads the pods of a DaemonSet.
func (c *Controller) pods(ctx context.Context, live *unstructured.Unstructured) ([]rollout.Pod, error) {
	selector, _, _ := unstructured.NestedStringMap(live.Object, "spec", "selector", "matchLabels")
	if len(selector) == 0 {
		return nil, nil
	}
	current := live.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]
	var pods []rollout.Pod
	err := c.Pods(ctx, live.GetNamespace(), labels.SelectorFromSet(selector), func(found *corev1.Pod) {
		pod := rollout.Pod{Current: found.Labels["pod-template-generation"] == current, Since: found.CreationTimestamp.Time}
		for _, cond := range found.Status.Conditions {
			if cond.Type == corev1.PodReady {
				pod.Ready, pod.Since = cond.Status == corev1.ConditionTrue, cond.LastTransitionTime.Time
			}
		}
		pods = append(pods, pod)
	})
	return pods, err
}

// nodesNotResponding returns the number of nodes whose kubelet does not respond.
func (c *Controller) nodesNotResponding(ctx context.Context) (int, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, node := range nodes {
		for _, cond := range node.Status.Conditions {
			if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionUnknown {
				n++
			}
		}
	}
	return n, nil
}

// backOff removes objects in back-off from a plan, and attributes changes to clients. Objects that cannot be read are left to the next
// reconcile.
func (c *Controller) backOff(ctx context.Context, todo *plan.Plan) time.Duration {
	repaired, requeueAfter := c.conflicts.backOff(todo, c.Now())
	for _, a := range repaired {
		var fields []metav1.ManagedFieldsEntry
		if a.Verb != plan.Create {
			ref := apply.Ref{GroupVersionKind: a.GVK(), NamespacedName: types.NamespacedName{Namespace: a.Key.Namespace, Name: a.Key.Name}}
			live, err := c.api.Get(ctx, ref)
			if err != nil {
				continue
			}
			fields = live.GetManagedFields()
		}
		c.conflicts[a.Key].attribute(fields)
	}
	return requeueAfter
}
