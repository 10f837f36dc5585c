package ovnkubernetes

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// poolsAnnotation is on DaemonSets: the cluster network that their pods know.
const poolsAnnotation = "networkoperator.openshift.io/cluster-network-cidr"

// observed is what rendering needs to know of the cluster: how far the two DaemonSets have been rolled out.
type observed struct{ master, node rolled }

// Observe reads how far the two DaemonSets have been rolled out.
func (OVNKubernetes) Observe(ctx context.Context, r client.Reader, _ *operatorv1.NetworkSpec) (provider.Renderer, error) {
	if r == nil {
		return observed{}, nil
	}
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var o observed
	for name, into := range map[string]*rolled{masterName: &o.master, nodeName: &o.node} {
		var set appsv1.DaemonSet
		err := r.Get(ctx, client.ObjectKey{Namespace: agentconfig.Namespace, Name: name}, &set)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read DaemonSet %s/%s: %w", agentconfig.Namespace, name, err)
		}
		*into = rolloutOf(&set, notReady(nodes.Items))
	}
	return o, nil
}

// rolloutOf returns how far a DaemonSet has been rolled out. On unready nodes no pod is replaced: no one waits for those.
func rolloutOf(set *appsv1.DaemonSet, unready int32) rolled {
	s := set.Status
	out := rolled{exists: true, version: set.Annotations[manifest.AnnotationVersion], pools: set.Annotations[poolsAnnotation], nodes: s.DesiredNumberScheduled}
	if s.ObservedGeneration < set.Generation {
		out.missing = max(1, s.DesiredNumberScheduled)
		return out
	}
	out.missing = max(0, s.DesiredNumberScheduled-min(s.UpdatedNumberScheduled, s.NumberAvailable)-unready)
	return out
}

func notReady(nodes []corev1.Node) int32 {
	var n int32
	for _, node := range nodes {
		ready := false
		for _, c := range node.Status.Conditions {
			ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		if !ready {
			n++
		}
	}
	return n
}
