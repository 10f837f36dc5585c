package rolloutwatch

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Workload is the progress of the rollout of one DaemonSet.
type Workload struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Done is the number of nodes, of Nodes, with a ready pod of the newest revision.
	Done  int32 `json:"done"`
	Nodes int32 `json:"nodes"`
	// Waiting are the sorted names of the other nodes. It is empty once the rollout has finished.
	Waiting []string `json:"waiting,omitempty"`
	// Observed is false while the DaemonSet controller has not observed the newest generation.
	Observed bool `json:"observed"`
}

// Finished reports whether the newest revision runs on all nodes.
func (p Workload) Finished() bool { return p.Observed && p.Done >= p.Nodes }

// String returns a line of text, for example "flanneld: 1 of 3 nodes, waiting for worker-0 and worker-1".
func (p Workload) String() string {
	line := fmt.Sprintf("%s: %d of %d nodes", p.Name, p.Done, p.Nodes)
	if len(p.Waiting) > 0 {
		line += ", waiting for " + phrase.Names(p.Waiting, mostNames)
	}
	return line
}

// Progress returns the progress of the rollout of each of the operator's DaemonSets, including finished ones.
func Progress(ctx context.Context, c client.Reader) ([]Workload, error) {
	var sets appsv1.DaemonSetList
	if err := c.List(ctx, &sets, client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy}); err != nil {
		return nil, fmt.Errorf("list DaemonSets: %w", err)
	}
	var all []Workload
	for i := range sets.Items {
		p, err := progress(ctx, c, &sets.Items[i])
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func progress(ctx context.Context, c client.Reader, d *appsv1.DaemonSet) (Workload, error) {
	p := Workload{Namespace: d.Namespace, Name: d.Name, Nodes: d.Status.DesiredNumberScheduled, Observed: d.Status.ObservedGeneration >= d.Generation}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return p, fmt.Errorf("list pods: %w", err)
	}
	newest, done := newestRevision(d, pods.Items), int32(0)
	for i := range pods.Items {
		if pod := &pods.Items[i]; newest(pod) && ready(pod) {
			done++
		} else {
			p.Waiting = append(p.Waiting, pod.Spec.NodeName)
		}
	}
	slices.Sort(p.Waiting)
	p.Waiting = slices.Compact(p.Waiting)
	p.Done = min(done, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable)
	if p.Finished() {
		p.Waiting = nil
	}
	return p, nil
}
