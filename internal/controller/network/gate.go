package network

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/rollout"
)

// render runs the pipeline for what may be rolled out now: what is wanted, or what is in effect while that has to wait
// or was taken back.
func (p *pass) render(ctx context.Context, cluster facts.Cluster) error {
	record := p.memory.record
	in := pipeline.Input{
		Desired: &p.network.Spec, Applied: record.Baseline(), Revision: record.BaselineNumber(),
		Acknowledged: p.network.Annotations[pipeline.AcknowledgeAnnotation], Cluster: cluster, Reader: p.Client,
	}
	p.facts = cluster
	p.result, p.failed = p.Pipeline.Reconcile(ctx, in)
	if !p.managed || p.result.Spec == nil {
		return nil
	}
	if p.corrupt != nil {
		return p.renderKept(ctx, in)
	}
	wanted, err := applied.NewSnapshot(p.result.Spec)
	if err != nil {
		return err
	}
	p.turn = rollout.Next(rollout.Standing{
		Record: record, History: p.memory.history, Wanted: wanted, Version: cluster.ReleaseVersion, Images: cluster.Images,
		Migrating: cluster.MTUMigration.Active,
		Hung:      p.Board.Hung(), AutoRollback: p.result.Spec.Rollout != nil && p.result.Spec.Rollout.AutoRollback,
	})
	refused := p.result.Refused
	switch {
	case p.turn.Back != nil:
		return p.renderBack(ctx, in)
	case p.turn.HoldVersion && record.Images == nil: // an operator that did not keep them has applied it
		p.turn = rollout.Turn{}
		return nil
	case p.turn.HoldVersion:
		in.Cluster.ReleaseVersion, in.Cluster.Images = record.OperatorVersion, record.Images
	case !p.turn.HoldConfig:
		return nil
	}
	p.facts = in.Cluster
	if p.turn.HoldConfig {
		p.result, p.failed = p.Pipeline.InForce(ctx, in)
		p.result.Refused = refused
		return nil
	}
	p.result, p.failed = p.Pipeline.Reconcile(ctx, in)
	if p.turn.Reason == rollout.ReasonUpgradeWaits && !rendered(p.result) {
		// What the images before lack, those that wait may bring.
		in.Cluster, p.facts, p.turn = cluster, cluster, rollout.Turn{}
		p.result, p.failed = p.Pipeline.Reconcile(ctx, in)
	}
	return nil
}

// renderKept renders what is known to be applied while the record is damaged, as it was applied: a change is checked, and
// waits. Nothing of that could be recorded.
func (p *pass) renderKept(ctx context.Context, in pipeline.Input) error {
	record, refused := p.memory.record, p.result.Refused
	if record.Images != nil {
		in.Cluster.ReleaseVersion, in.Cluster.Images = record.OperatorVersion, record.Images
	}
	p.facts = in.Cluster
	p.result, p.failed = p.Pipeline.InForce(ctx, in)
	p.result.Refused = refused
	return nil
}

// rendered reports whether everything that is asked for could be rendered.
func rendered(res pipeline.Result) bool {
	return !slices.ContainsFunc(res.Outputs, func(o pipeline.ComponentOutput) bool { return o.Err != nil })
}

// renderBack renders a revision that was healthy.
func (p *pass) renderBack(ctx context.Context, in pipeline.Input) error {
	good, err := p.turn.Back.Snapshot()
	if err != nil {
		return err
	}
	in.Applied = good.Spec()
	in.Cluster.ReleaseVersion = p.turn.Back.OperatorVersion
	if p.turn.Back.Images != nil {
		in.Cluster.Images = p.turn.Back.Images
	}
	p.facts = in.Cluster
	p.result, p.failed = p.Pipeline.InForce(ctx, in)
	return nil
}

// gate has DaemonSets go round the nodes in steps.
func (p *pass) gate(ctx context.Context) error {
	gone, err := p.nodesGone(ctx)
	if err != nil {
		return err
	}
	for i, o := range p.desired {
		live, found := p.Operands.Live(o.Key())
		if !found || o.Object.GetKind() != "DaemonSet" {
			continue
		}
		pods, err := p.pods(ctx, live)
		if err != nil {
			return err
		}
		var again time.Duration
		p.desired[i], again = rollout.Gate(rollout.Look{Wanted: o, Live: live, Pods: pods, Gone: gone, Hung: p.Board.Hung() != "", Now: p.Now()})
		p.again = sooner(p.again, again)
	}
	return nil
}

// pods reads the pods of a DaemonSet.
func (p *pass) pods(ctx context.Context, live *unstructured.Unstructured) ([]rollout.Pod, error) {
	selector, _, _ := unstructured.NestedStringMap(live.Object, "spec", "selector", "matchLabels")
	if len(selector) == 0 {
		return nil, nil
	}
	current := live.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]
	var pods []rollout.Pod
	err := p.Pods(ctx, live.GetNamespace(), labels.SelectorFromSet(selector), func(found *corev1.Pod) {
		pod := rollout.Pod{Current: found.Labels["pod-template-generation"] == current, Since: found.CreationTimestamp.Time}
		for _, c := range found.Status.Conditions {
			if c.Type == corev1.PodReady {
				pod.Ready, pod.Since = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
			}
		}
		pods = append(pods, pod)
	})
	return pods, err
}

// nodesGone counts the nodes whose kubelet does not answer.
func (p *pass) nodesGone(ctx context.Context) (int, error) {
	nodes, err := p.Nodes(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, node := range nodes {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
				n++
			}
		}
	}
	return n, nil
}

// healthy reports whether all critical workloads that are wanted do their work in their present form.
func (p *pass) healthy(ctx context.Context) (bool, error) {
	gone, err := p.nodesGone(ctx)
	if err != nil {
		return false, err
	}
	for _, o := range p.desired {
		if o.Policy.NonCritical || !manifest.IsWorkload(o.Key().GroupKind()) {
			continue
		}
		live, found := p.Operands.Live(o.Key())
		if !found || !rollout.Healthy(live, gone) {
			return false, nil
		}
	}
	return true, nil
}
