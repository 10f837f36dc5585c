package clusterstatus

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

// live reads the state of the workloads that were rendered. Those that do not exist are left out.
func (c *Controller) live(ctx context.Context, rollout report.Rollout) ([]status.Live, error) {
	down, err := c.nodesGone(ctx)
	if err != nil {
		return nil, err
	}
	var found []status.Live
	for _, w := range rollout.Wanted {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(w.Kind))
		err := c.Operands.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, u)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read %s: %w", w, err)
		}
		if err != nil {
			continue
		}
		l, err := c.read(ctx, u, down)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", w, err)
		}
		l.Workload = w
		found = append(found, l)
	}
	return found, nil
}

func (c *Controller) read(ctx context.Context, u *unstructured.Unstructured, down map[string]bool) (status.Live, error) {
	if u.GetKind() == "DaemonSet" {
		var d appsv1.DaemonSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
			return status.Live{}, err
		}
		pods, err := c.pods(ctx, d.Namespace, d.Spec.Selector, down)
		return status.OfDaemonSet(&d, pods), err
	}
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
		return status.Live{}, err
	}
	pods, err := c.pods(ctx, d.Namespace, d.Spec.Selector, down)
	return status.OfDeployment(&d, pods), err
}

// pods reads the pods that a selector finds; a missing one finds none.
func (c *Controller) pods(ctx context.Context, namespace string, selector *metav1.LabelSelector, down map[string]bool) ([]status.Pod, error) {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || selector == nil {
		matching = labels.Nothing()
	}
	var list corev1.PodList
	if err := c.Client.List(ctx, &list, client.UnsafeDisableDeepCopy, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: matching}); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	pods := make([]status.Pod, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, status.OfPod(&list.Items[i], down[list.Items[i].Spec.NodeName]))
	}
	return pods, nil
}

// nodesGone returns the names of the nodes whose kubelet does not answer.
func (c *Controller) nodesGone(ctx context.Context) (map[string]bool, error) {
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	down := map[string]bool{}
	for i := range nodes.Items {
		if gone(&nodes.Items[i]) {
			down[nodes.Items[i].Name] = true
		}
	}
	return down, nil
}

// gone reports whether the kubelet of a node does not answer. A node that says itself that it is not ready is
// there: it may be waiting for its network.
func gone(o client.Object) bool {
	n, ok := o.(*corev1.Node)
	if !ok {
		return false
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}
