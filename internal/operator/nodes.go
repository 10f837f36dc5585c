package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// nodesIn returns a function that returns all nodes of a cache, which are read-only. A list would copy each node, a kilobyte each,
// several times per reconcile.
func nodesIn(c cache.Cache) func(context.Context) ([]*corev1.Node, error) {
	return func(ctx context.Context) ([]*corev1.Node, error) {
		informer, err := c.GetInformer(ctx, &corev1.Node{})
		if err != nil {
			return nil, fmt.Errorf("find nodes: %w", err)
		}
		indexed, ok := informer.(interface{ GetIndexer() toolscache.Indexer })
		if !ok {
			return nil, fmt.Errorf("find nodes: %T has no index", informer)
		}
		all := indexed.GetIndexer().List()
		nodes := make([]*corev1.Node, 0, len(all))
		for _, o := range all {
			if n, ok := o.(*corev1.Node); ok {
				nodes = append(nodes, n)
			}
		}
		return nodes, nil
	}
}
