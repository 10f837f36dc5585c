package podnetwork

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const (
	// nodePoll is the interval at which an agent is asked for the VNIDs that it uses.
	nodePoll = 500 * time.Millisecond
	// mostNodes is the maximum number of nodes named in an error.
	mostNodes = 5
)

// agents asks the agents of nodes for the VNIDs that they use.
type agents struct {
	provider.VNIDReporter
	access provider.TraceAccess
}

// await waits until all nodes with pods of the namespaces use their VNIDs. note is the reason why it did not wait, if the user may not ask agents.
func (a agents) await(ctx context.Context, answers []answer) (note string, err error) {
	nodes, err := a.nodes(ctx, answers)
	if err != nil {
		return a.unasked(err)
	}
	late := map[string]error{}
	for _, node := range nodes {
		if err := a.awaitNode(ctx, node, answers); apierrors.IsForbidden(err) {
			return a.unasked(err)
		} else if err != nil {
			late[node] = err
		}
	}
	if len(late) == 0 {
		return "", nil
	}
	names := slices.Sorted(maps.Keys(late))
	return "", fmt.Errorf("the VNIDs are changed, and these nodes do not use them yet: %s: %w", phrase.Names(names, mostNodes), late[names[0]])
}

// unasked returns the note for a user who may not ask agents, else the error.
func (agents) unasked(err error) (note string, _ error) {
	if apierrors.IsForbidden(err) {
		return fmt.Sprintf("nodes apply the VNIDs when they receive them; the command cannot wait for that: %v", err), nil
	}
	return "", err
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

// awaitNode waits until a node uses the VNIDs. A namespace that the agent does not report has no flows there.
func (a agents) awaitNode(ctx context.Context, node string, answers []answer) error {
	for {
		used, err := a.VNIDs(ctx, a.access, node)
		if err == nil && !slices.ContainsFunc(answers, func(want answer) bool { id, attached := used[want.Namespace]; return attached && id != want.VNID }) {
			return nil
		}
		if apierrors.IsForbidden(err) {
			return err
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return err
		case <-time.After(nodePoll):
		}
	}
}
