package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// podsIn returns a function that calls another one for each pod of a namespace that a selector selects in a cache. The pod is
// read-only and valid only during the call. A list would copy every pod, some kilobytes each, which would use most of the memory
// with thousands of nodes.
func podsIn(c cache.Cache) func(context.Context, string, labels.Selector, func(*corev1.Pod)) error {
	return func(ctx context.Context, namespace string, selector labels.Selector, look func(*corev1.Pod)) error {
		informer, err := c.GetInformer(ctx, &corev1.Pod{})
		if err != nil {
			return fmt.Errorf("find pods: %w", err)
		}
		indexed, ok := informer.(interface{ GetIndexer() toolscache.Indexer })
		if !ok {
			return fmt.Errorf("find pods: %T has no index", informer)
		}
		all, err := indexed.GetIndexer().ByIndex(toolscache.NamespaceIndex, namespace)
		if err != nil {
			return fmt.Errorf("find pods: %w", err)
		}
		var small corev1.Pod
		for _, o := range all {
			switch pod := o.(type) {
			case *workingPod:
				if selector.Matches(labels.Set(pod.Labels)) {
					pod.fill(&small)
					look(&small)
				}
			case *corev1.Pod:
				if selector.Matches(labels.Set(pod.Labels)) {
					look(pod)
				}
			}
		}
		return nil
	}
}
