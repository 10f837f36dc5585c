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

// planned is what is missing in the cluster.
type planned struct {
	// objects are those that are desired now: DaemonSets with the step of their rollout.
	objects []manifest.Object
	todo    plan.Plan
	// later is after how long a further reconcile may have something to do although no event occurs; 0 is never.
	later time.Duration
}

// plan compares what is desired with what exists.
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

// operands returns everything that is desired or was applied.
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

// gate limits how many nodes a DaemonSet is updated on at once.
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
		var again time.Duration
		p.objects[i], again = rollout.Gate(rollout.Look{Wanted: o, Live: live, Pods: pods, Gone: down, Hung: c.Board.Hung() != "", Now: c.Now()})
		p.later = sooner(p.later, again)
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

// nodesNotResponding counts the nodes whose kubelet does not respond.
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

// backOff takes out of a plan what other clients change repeatedly, until its back-off is over, and attributes the changes to clients
// where it does not. What cannot be read is left to the next reconcile.
func (c *Controller) backOff(ctx context.Context, todo *plan.Plan) time.Duration {
	repaired, again := c.conflicts.backOff(todo, c.Now())
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
	return again
}
