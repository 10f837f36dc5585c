package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/rollout"
)

// chosen is what may be rolled out now: the wanted specification, or the active one while that is held or rolled back.
type chosen struct {
	// turn describes what is held or rolled back.
	turn rollout.Turn
	// facts are the facts for rendering: those of an older version while the new one is held.
	facts  facts.Cluster
	result pipeline.Result
	// failed is the error of the pipeline.
	failed error
	// desired are all objects. It is valid only if rendered is true.
	desired  []manifest.Object
	rendered bool
}

// choose decides what may be rolled out now, and renders it.
func (c *Controller) choose(ctx context.Context, g *gathered, w *wanted) (chosen, error) {
	out := chosen{facts: g.cluster, result: w.choice.Result, failed: w.invalid}
	var err error
	if out.turn, err = c.next(g, w); err != nil {
		return out, err
	}
	now, err := c.candidate(ctx, g, w, out.turn)
	if err != nil {
		return out, err
	}
	out.facts = now.facts
	out.result, out.failed = now.render(ctx)
	if out.turn.Reason == rollout.ReasonUpgradeWaits && !complete(out.result) {
		// The new images may support what the old ones lack. Whether they do is known after rendering only, hence the second one.
		now, out.turn, out.facts = candidate{w.choice, w.invalid, g.cluster}, rollout.Turn{}, g.cluster
		out.result, out.failed = now.render(ctx)
	}
	if out.failed != nil && len(out.result.Outputs) == 0 {
		return out, out.retryable()
	}
	if out.desired, err = Desired(c.Pipeline.Registry, out.result, out.facts, usedAcknowledgement(out.result, g.memory)); err != nil {
		return out, err
	}
	out.rendered = true
	return out, nil
}

// next decides whether specification, version and images may be rolled out, or a previous revision.
func (c *Controller) next(g *gathered, w *wanted) (rollout.Turn, error) {
	record, spec := g.memory.record, w.choice.Result.Spec
	if !g.managed || g.corrupt != nil || spec == nil {
		return rollout.Turn{}, nil
	}
	snapshot, err := applied.NewSnapshot(spec)
	if err != nil {
		return rollout.Turn{}, err
	}
	turn := rollout.Next(rollout.State{
		Record: record, History: g.memory.history, Wanted: snapshot, Version: g.cluster.ReleaseVersion, Images: g.cluster.Images,
		Migrating: g.cluster.MTUMigration.Active,
		Stalled:   c.Board.Stalled(), AutoRollback: spec.Rollout != nil && spec.Rollout.AutoRollback,
	})
	if turn.Back == nil && turn.HoldVersion && record.Images == nil { // applied by an operator that did not record images
		return rollout.Turn{}, nil
	}
	return turn, nil
}

// candidate is a specification with the facts to render it.
type candidate struct {
	choice pipeline.Choice
	// invalid is the error if it cannot be rendered.
	invalid error
	facts   facts.Cluster
}

func (c candidate) render(ctx context.Context) (pipeline.Result, error) {
	if c.invalid != nil {
		return c.choice.Result, c.invalid
	}
	return c.choice.Render(ctx, c.facts)
}

// candidate returns what a turn allows. While the record is corrupt, the known applied configuration is rendered unchanged; a change is
// checked but held, because it could not be recorded.
func (c *Controller) candidate(ctx context.Context, g *gathered, w *wanted, turn rollout.Turn) (candidate, error) {
	next, record, in := candidate{w.choice, w.invalid, g.cluster}, g.memory.record, w.in
	switch {
	case !g.managed || w.choice.Result.Spec == nil:
		return next, nil
	case g.corrupt != nil:
		if record.Images != nil {
			next.facts.ReleaseVersion, next.facts.Images = record.OperatorVersion, record.Images
		}
	case turn.Back != nil:
		good, err := turn.Back.Snapshot()
		if err != nil {
			return next, err
		}
		in.Applied, next.facts.ReleaseVersion = good.Spec(), turn.Back.OperatorVersion
		if turn.Back.Images != nil {
			next.facts.Images = turn.Back.Images
		}
	case turn.HoldVersion:
		next.facts.ReleaseVersion, next.facts.Images = record.OperatorVersion, record.Images
		return next, nil
	case !turn.HoldConfig:
		return next, nil
	}
	in.Cluster = next.facts
	next.choice, next.invalid = c.Pipeline.ChooseApplied(ctx, in)
	if turn.Back == nil {
		next.choice.Result.Refused = w.choice.Result.Refused
	}
	return next, nil
}

// complete reports whether every component was rendered.
func complete(res pipeline.Result) bool {
	return !slices.ContainsFunc(res.Outputs, func(o pipeline.ComponentOutput) bool { return o.Err != nil })
}

// Desired returns all objects of a result: those of its components, and the NetworkGuard. known are the facts for rendering,
// usedAcknowledgement is the last acknowledgement that was used.
func Desired(registry pipeline.Registry, res pipeline.Result, known facts.Cluster, usedAcknowledgement string) ([]manifest.Object, error) {
	var objects []manifest.Object
	for _, o := range res.Outputs {
		objects = append(objects, o.Output.Objects...)
	}
	g, err := admission.Object(registry, admission.Applied{Spec: res.Spec, Traits: res.Traits, Cluster: known, Acknowledged: usedAcknowledgement})
	return append(objects, g), err
}

// usedAcknowledgement returns the acknowledgement of the current or the last change.
func usedAcknowledgement(res pipeline.Result, m memory) string {
	if res.Acknowledged {
		return res.Acknowledgement
	}
	return m.history.UsedUp(m.record)
}

// retryable returns the error of the pipeline if a retry may succeed without a change. An invalid specification stays invalid, and a
// missing MTU causes an event later.
func (c *chosen) retryable() error {
	if c.failed == nil || pipeline.RefusalsOf(c.failed) != nil || errors.Is(c.failed, pipeline.ErrHostMTUUnknown) {
		return nil
	}
	return c.failed
}

// incomplete returns why desired is incomplete; empty if it is complete.
func (c *chosen) incomplete() string {
	var why []string
	for _, o := range c.result.Outputs {
		switch {
		case o.Err != nil:
			why = append(why, fmt.Sprintf("%s could not be rendered", o.Name))
		case o.Output.Waiting != "":
			why = append(why, fmt.Sprintf("%s: %s", o.Name, o.Output.Waiting))
		}
	}
	return strings.Join(why, "; ")
}
