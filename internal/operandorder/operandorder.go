// Package operandorder supports ordered upgrades of the DaemonSets of a network: it has the progress of their rollouts and the direction in
// which versions change. The network decides the order. Only Read does I/O.
package operandorder

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Set is the state of a DaemonSet.
type Set struct {
	Name string
	// Exists is false for one that does not exist; then only the name is set.
	Exists bool
	// Version is the version of the operator that rendered it.
	Version string
	// Annotations are those of the DaemonSet.
	Annotations map[string]string
	// Missing is the number of Ready nodes whose pods are not updated and available yet; Nodes is the number of nodes on which they are to
	// run.
	Missing, Nodes int32
}

// Done reports whether every Ready node runs the current pods.
func (s Set) Done() bool { return s.Missing == 0 }

// Read returns the state of DaemonSets of a namespace, in the order of names.
func Read(ctx context.Context, r client.Reader, namespace string, names ...string) ([]Set, error) {
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	unready, sets := unready(nodes.Items), make([]Set, len(names))
	for i, name := range names {
		sets[i].Name = name
		var set appsv1.DaemonSet
		err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &set)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read DaemonSet %s/%s: %w", namespace, name, err)
		}
		sets[i] = of(&set, unready)
	}
	return sets, nil
}

// of returns the state of a DaemonSet. Pods on unready nodes are not replaced, so that they are not counted.
func of(set *appsv1.DaemonSet, unready int32) Set {
	s := set.Status
	out := Set{Name: set.Name, Exists: true, Version: set.Annotations[manifest.AnnotationVersion], Annotations: set.Annotations, Nodes: s.DesiredNumberScheduled}
	if s.ObservedGeneration < set.Generation {
		out.Missing = max(1, s.DesiredNumberScheduled)
		return out
	}
	out.Missing = max(0, s.DesiredNumberScheduled-min(s.UpdatedNumberScheduled, s.NumberAvailable)-unready)
	return out
}

func unready(nodes []corev1.Node) int32 {
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

// Direction compares the version of the operator with those that rendered DaemonSets: 1 if one of them is older, so that this is an upgrade,
// -1 if one is newer, 0 if none differs, or they cannot be compared.
func Direction(release string, sets ...Set) int {
	wanted, err := version.ParseSemantic(release)
	if err != nil {
		return 0
	}
	for _, s := range sets {
		if v, err := version.ParseSemantic(s.Version); err == nil && !v.EqualTo(wanted) {
			if v.LessThan(wanted) {
				return 1
			}
			return -1
		}
	}
	return 0
}
