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

// chosen is what may be rolled out now: what is wanted, or what is in effect while that has to wait or was taken back.
type chosen struct {
	// turn says what is held or taken back.
	turn rollout.Turn
	// facts are those that was rendered with: of an older version, while the new one has to wait.
	facts  facts.Cluster
	result pipeline.Result
	// failed is the error of the pipeline.
	failed error
	// desired are all objects. It counts only if rendered is true.
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
		// What the images before lack, those that wait may bring.
		now, out.turn, out.facts = candidate{w.choice, w.invalid, g.cluster}, rollout.Turn{}, g.cluster
		out.result, out.failed = now.render(ctx)
	}
	if out.failed != nil && len(out.result.Outputs) == 0 {
		return out, out.retryable()
	}
	if out.desired, err = Desired(c.Pipeline.Registry, out.result, out.facts, usedUp(out.result, g.memory)); err != nil {
		return out, err
	}
	out.rendered = true
	return out, nil
}

// next decides whether it is the turn of what is wanted, of the version and images, or of a revision before.
func (c *Controller) next(g *gathered, w *wanted) (rollout.Turn, error) {
	record, spec := g.memory.record, w.choice.Result.Spec
	if !g.managed || g.corrupt != nil || spec == nil {
		return rollout.Turn{}, nil
	}
	snapshot, err := applied.NewSnapshot(spec)
	if err != nil {
		return rollout.Turn{}, err
	}
	turn := rollout.Next(rollout.Standing{
		Record: record, History: g.memory.history, Wanted: snapshot, Version: g.cluster.ReleaseVersion, Images: g.cluster.Images,
		Migrating: g.cluster.MTUMigration.Active,
		Hung:      c.Board.Hung(), AutoRollback: spec.Rollout != nil && spec.Rollout.AutoRollback,
	})
	if turn.Back == nil && turn.HoldVersion && record.Images == nil { // an operator that did not record them has applied it
		return rollout.Turn{}, nil
	}
	return turn, nil
}

// candidate is a specification and what to render it with.
type candidate struct {
	choice pipeline.Choice
	// invalid is why it cannot be rendered.
	invalid error
	facts   facts.Cluster
}

func (c candidate) render(ctx context.Context) (pipeline.Result, error) {
	if c.invalid != nil {
		return c.choice.Result, c.invalid
	}
	return c.choice.Render(ctx, c.facts)
}

// candidate is what a turn lets through. While the record is damaged, what is known to be applied is rendered as it was applied: a
// change is checked, and waits, because it could not be recorded.
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

// complete reports whether every component could be rendered.
func complete(res pipeline.Result) bool {
	return !slices.ContainsFunc(res.Outputs, func(o pipeline.ComponentOutput) bool { return o.Err != nil })
}

// Desired returns all objects that a result stands for: those of its components, and the NetworkGuard. known is what it was
// rendered with, usedUp the acknowledgement that was used up last.
func Desired(registry pipeline.Registry, res pipeline.Result, known facts.Cluster, usedUp string) ([]manifest.Object, error) {
	var objects []manifest.Object
	for _, o := range res.Outputs {
		objects = append(objects, o.Output.Objects...)
	}
	g, err := admission.Object(registry, admission.Applied{Spec: res.Spec, Traits: res.Traits, Cluster: known, Acknowledged: usedUp})
	return append(objects, g), err
}

// usedUp is the acknowledgement of the change that is made now, or was made last.
func usedUp(res pipeline.Result, m memory) string {
	if res.Acknowledged {
		return res.Acknowledgement
	}
	return m.history.UsedUp(m.record)
}

// retryable returns the error of the pipeline if another attempt may succeed although nothing is changed. An invalid
// specification stays invalid, and the MTU of the nodes comes with an event.
func (c *chosen) retryable() error {
	if c.failed == nil || pipeline.RefusalsOf(c.failed) != nil || errors.Is(c.failed, pipeline.ErrHostMTUUnknown) {
		return nil
	}
	return c.failed
}

// incomplete is why desired is not everything, or nothing.
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
