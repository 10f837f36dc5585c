package rollback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// Prepared is a planned rollback.
type Prepared struct {
	// Plan is the preview of the rollback.
	Plan preview.Result
	// Revision is the target of the rollback.
	Revision int

	network *unstructured.Unstructured
	patch   map[string]any
}

// Prepare plans a rollback to a revision: its number, "current" for the active one, or empty for the default of cno rollback.
// acknowledge is the hash that acknowledges a disruptive change.
func Prepare(ctx context.Context, p pipeline.Pipeline, cluster preview.Cluster, name, acknowledge string) (Prepared, error) {
	state, records, err := cluster.State(ctx, facts.Cluster{})
	if err != nil {
		return Prepared{}, err
	}
	network, err := cluster.Network(ctx)
	if err != nil {
		return Prepared{}, fmt.Errorf("read network: %w", err)
	}
	if name == "" && refused(ctx, p, state, network.Object) {
		name = current
	}
	target, err := revision(records, name)
	if err != nil {
		return Prepared{}, err
	}
	patch, next, err := back(ctx, p, state, network.Object, target)
	if err != nil {
		return Prepared{}, err
	}
	state.Input.Acknowledged = acknowledge
	plan, err := preview.Run(ctx, p, offline.Input{File: fmt.Sprintf("revision %d", target.Number), Network: next}, state)
	if err != nil {
		return Prepared{}, err
	}
	return Prepared{Plan: plan, Revision: target.Number, network: network, patch: patch}, nil
}

// Empty reports whether the specification already has the values of the revision.
func (r Prepared) Empty() bool { return len(r.patch) == 0 }

// Apply performs the rollback, with the acknowledgement of the plan if it needs one, and returns the generation of the Network. The
// caller has checked that the plan applies. It fails if the Network has changed since Prepare.
func (r Prepared) Apply(ctx context.Context, cluster preview.Cluster) (int64, error) {
	body := map[string]any{"spec": r.patch}
	if r.Plan.Acknowledgement != "" {
		body["metadata"] = map[string]any{"annotations": map[string]any{pipeline.AcknowledgeAnnotation: r.Plan.Acknowledgement}}
	}
	generation, err := cluster.Patch(ctx, r.network, body)
	if err != nil {
		return 0, fmt.Errorf("roll back to revision %d: %w", r.Revision, err)
	}
	return generation, nil
}

// current is the name of the active revision.
const current = "current"

// refused reports whether the operator refuses the current specification, permanently or until it is acknowledged.
func refused(ctx context.Context, p pipeline.Pipeline, s preview.State, object map[string]any) bool {
	var present operatorv1.Network
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &present); err != nil {
		return false // the next read reports the error
	}
	in := s.Input
	in.Desired, in.Acknowledged = &present.Spec, present.Annotations[pipeline.AcknowledgeAnnotation]
	_, err := p.Run(ctx, in, pipeline.Check)
	return pipeline.RefusalsOf(err) != nil
}

// revision returns the target revision: the named one, or else the last one that differs and was healthy, or at least
// applied.
func revision(r preview.Records, name string) (applied.Revision, error) {
	if name == current {
		name = strconv.Itoa(r.Record.BaselineNumber())
	}
	if name != "" {
		i := slices.IndexFunc(r.History, func(rev applied.Revision) bool { return strconv.Itoa(rev.Number) == name })
		if i < 0 {
			return applied.Revision{}, fmt.Errorf("there is no revision %q; cno history lists those that are kept", name)
		}
		return r.History[i], nil
	}
	active, hash := r.Record.BaselineNumber(), hashOf(r.Record)
	for _, outcome := range []applied.Outcome{applied.OutcomeHealthy, applied.OutcomeApplied} {
		for _, rev := range slices.Backward(r.History) {
			if rev.Number < active && rev.Outcome == outcome && rev.Hash != hash {
				return rev, nil
			}
		}
	}
	return applied.Revision{}, errors.New("no earlier revision differs from the active one; cno history lists the revisions, and cno rollback current undoes an edit that is not applied")
}

// hashOf returns the hash of the applied specification: a rollback to the same would change nothing.
func hashOf(r applied.Record) string {
	if r.Unfinished() {
		return r.Intent.Hash()
	}
	return r.Applied.Hash()
}

// back returns the merge patch that restores the specification of a revision, and the resulting Network. Values with
// the same meaning keep their spelling.
func back(ctx context.Context, p pipeline.Pipeline, s preview.State, object map[string]any, target applied.Revision) (map[string]any, *operatorv1.Network, error) {
	var present operatorv1.Network
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &present); err != nil {
		return nil, nil, fmt.Errorf("read network: %w", err)
	}
	snapshot, err := target.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	base := &present.Spec
	in := s.Input
	in.Desired = base
	if res, err := p.Run(ctx, in, pipeline.Fill); err == nil {
		base = res.Spec
	}
	patch, err := preview.MergePatch(base, snapshot.Spec())
	if err != nil {
		return nil, nil, err
	}
	next := present.DeepCopy()
	next.Annotations = nil
	if err := preview.Merge(&next.Spec, patch); err != nil {
		return nil, nil, err
	}
	return patch, next, nil
}
