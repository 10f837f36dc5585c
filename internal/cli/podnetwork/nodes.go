package podnetwork

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const (
	// nodePoll is the pause before nodes that are late are asked again. concurrency is how many nodes are asked at a time.
	nodePoll    = 500 * time.Millisecond
	concurrency = 10
	// mostNodes is the maximum number of nodes named in an error.
	mostNodes = 5
)

// agents asks the agents of nodes for the VNIDs that they use.
type agents struct {
	provider.VNIDReporter
	access provider.TraceAccess
}

// await waits until all nodes with pods of the namespaces use their VNIDs. note is the reason why it did not wait for some of them, if the user may not ask
// their agents. The error names all nodes that are late.
func (a agents) await(ctx context.Context, answers []answer) (note string, err error) {
	late, err := a.nodes(ctx, answers)
	if apierrors.IsForbidden(err) {
		return unasked("the command cannot wait for that", err), nil
	}
	if err != nil {
		return "", err
	}
	var forbidden error
	refused := map[string]bool{}
	for {
		reasons := a.ask(ctx, late, answers)
		for node, reason := range reasons {
			if apierrors.IsForbidden(reason) {
				refused[node], forbidden = true, reason
				delete(reasons, node)
			}
		}
		late = slices.Sorted(maps.Keys(reasons))
		if len(late) > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(nodePoll):
				continue
			}
		}
		if len(refused) > 0 {
			note = unasked("the command cannot wait for "+phrase.Names(slices.Sorted(maps.Keys(refused)), mostNodes), forbidden)
		}
		if len(late) > 0 {
			err = fmt.Errorf("the VNIDs are changed, and these nodes do not use them yet: %s: %w", phrase.Names(late, mostNodes), reasons[late[0]])
		}
		return note, err
	}
}

// unasked returns the note for a user who may not ask agents.
func unasked(consequence string, err error) string {
	return fmt.Sprintf("nodes apply the VNIDs when they receive them; %s: %v", consequence, err)
}

// nodes returns the names of the nodes with pods of the namespaces, sorted.
func (a agents) nodes(ctx context.Context, answers []answer) ([]string, error) {
	found := map[string]bool{}
	for _, in := range answers {
		var pods corev1.PodList
		if err := a.access.Objects.List(ctx, &pods, client.InNamespace(in.Namespace)); err != nil {
			return nil, fmt.Errorf("list the pods of namespace %s: %w", in.Namespace, err)
		}
		for _, p := range pods.Items {
			ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
			if p.Spec.NodeName != "" && !p.Spec.HostNetwork && !ended {
				found[p.Spec.NodeName] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// ask returns the nodes that do not use the VNIDs, with the reason. It asks several nodes at a time.
func (a agents) ask(ctx context.Context, nodes []string, answers []answer) map[string]error {
	late := map[string]error{}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(concurrency)
	for _, node := range nodes {
		group.Go(func() error {
			if err := a.uses(ctx, node, answers); err != nil {
				mu.Lock()
				defer mu.Unlock()
				late[node] = err
			}
			return nil
		})
	}
	_ = group.Wait() // each node has its own error
	return late
}

// uses returns an error unless a node uses the VNIDs. A namespace that the agent does not report has no flows there.
func (a agents) uses(ctx context.Context, node string, answers []answer) error {
	used, err := a.VNIDs(ctx, a.access, node)
	if err != nil {
		return err
	}
	for _, want := range answers {
		if id, attached := used[want.Namespace]; attached && id != want.VNID {
			return fmt.Errorf("node %s uses VNID %d for namespace %s", node, id, want.Namespace)
		}
	}
	return nil
}
