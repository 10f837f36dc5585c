package network

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/rollout"
)

// catchUp is how long the cache may take to show what was written. If it takes longer, the next reconcile may write
// something again, which does no harm.
const catchUp = 2 * time.Second

// done is what a reconcile has done.
type done struct {
	// applied is true if everything that is desired is in the cluster.
	applied bool
	// kept are the actions on objects that are no longer desired and stay nevertheless.
	kept []plan.Action
	// again is after how long an object that is in back-off is repaired; 0 is never.
	again time.Duration
}

// do does what is planned, and keeps the record: the intent is recorded before anything is changed, and that it is applied only when
// all of it is.
func (c *Controller) do(ctx context.Context, g *gathered, ch *chosen, p *planned) (done, error) {
	var d done
	known := g.memory
	if g.corrupt == nil {
		var err error
		known.decision = c.inUse(known.decision, ch.desired)
		if known, err = c.begin(ctx, g.network, ch, known); err != nil {
			return d, err
		}
	}
	d.keep(p.todo.Actions)
	c.waiting.Store(len(d.kept) > 0)
	if !p.todo.Converged() {
		err := c.execute(ctx, g, ch, p, &d)
		c.waiting.Store(len(d.kept) > 0)
		if err != nil {
			return d, err
		}
	}
	if g.corrupt != nil || ch.incomplete() != "" {
		d.applied = known.record.State == applied.StateApplied
		return d, nil
	}
	d.applied = true
	return d, c.finish(ctx, g.network, ch, known)
}

// inUse returns the decision for a cluster with live objects of the operator although records, inventory and history are lost: a
// network is in use, and the specification is applied to it without a check.
func (c *Controller) inUse(decision applied.Decision, desired []manifest.Object) applied.Decision {
	live := func(o manifest.Object) bool { _, exists := c.Operands.Live(o.Key()); return exists }
	if decision == applied.Fresh && slices.ContainsFunc(desired, live) {
		return applied.Forced
	}
	return decision
}

// begin records what is about to be applied, unless that is recorded already.
func (c *Controller) begin(ctx context.Context, network *operatorv1.Network, ch *chosen, known memory) (memory, error) {
	before := known.record
	intent, err := applied.NewSnapshot(ch.result.Spec)
	if err != nil {
		return known, err
	}
	start := applied.Start{
		Intent: intent, Number: known.history.Next(before), OperatorVersion: ch.facts.ReleaseVersion, Images: ch.facts.Images,
		Forced: known.decision == applied.Forced, By: author(network),
	}
	if takeBack(&start, before, ch.turn) {
		c.Events.Warning(network, rollout.ReasonRolledBack, ch.turn.Message)
	}
	if ch.result.Acknowledged {
		start.Acknowledged = ch.result.Acknowledgement
	}
	if known.decision == applied.Recovered {
		c.Log.Warn("record and inventory are missing; changes are checked against the history", "revision", before.Number)
		c.Events.Warning(network, "RecordRecovered", fmt.Sprintf("the record of the applied network is missing, and is restored from revision %d in %s", before.Number, applied.HistoryConfigMapName))
		if err := c.records.save(ctx, before); err != nil {
			return known, err
		}
	}
	next := before.Begin(start)
	if !maps.Equal(next.Encode(), before.Encode()) {
		if known.history, err = c.replace(ctx, before, known.history, ch.turn); err != nil {
			return known, err
		}
		if start.Forced {
			c.Events.Warning(network, "ForcedChange", "the record of the applied network is missing: the specification is applied without checking that the change is safe")
		}
		c.Log.Info("rolling out", "revision", next.Number, "hash", intent.Hash(), "forced", start.Forced)
		if err := c.records.save(ctx, next); err != nil {
			return known, err
		}
	}
	known.record = next
	if next.State != applied.StateIntent {
		return known, nil
	}
	if known.record, err = next.MarkApplying(); err != nil {
		return known, err
	}
	return known, c.records.save(ctx, known.record)
}

// replace appends the revision before to the history when another one replaces it before it was healthy.
func (c *Controller) replace(ctx context.Context, before applied.Record, history applied.History, turn rollout.Turn) (applied.History, error) {
	outcome := applied.OutcomeAbandoned
	switch {
	case turn.Back != nil:
		outcome = applied.OutcomeRolledBack
	case !before.Unfinished():
		return history, nil
	}
	revision := before.Revision(outcome, c.Now())
	return history.Append(revision), c.records.remember(ctx, history, revision)
}

// takeBack completes the start of a rollout that takes another one back, or while one is held back. It reports whether it takes one back.
func takeBack(start *applied.Start, before applied.Record, turn rollout.Turn) bool {
	switch {
	case turn.Back == nil && turn.Reason == rollout.ReasonRolledBack:
		start.Rejected = before.Rejected
	case turn.Back == nil:
	case !before.Runs(turn.Back.OperatorVersion, turn.Back.Images):
		start.Back, start.Rejected = true, applied.Rejected{Operands: applied.Operands(before.OperatorVersion, before.Images), Why: turn.Message}
	default:
		start.Back, start.Rejected = true, applied.Rejected{Hash: before.Applied.Hash(), Why: turn.Message}
	}
	return start.Back
}

// keep notes the actions that only report something.
func (d *done) keep(actions []plan.Action) {
	d.kept = nil
	for _, a := range actions {
		if a.Verb == plan.Keep {
			d.kept = append(d.kept, a)
		}
	}
}

// execute executes the plan and waits until the cache shows the result.
func (c *Controller) execute(ctx context.Context, g *gathered, ch *chosen, p *planned, d *done) error {
	executor := apply.Executor{Client: c.api, Namespace: c.Namespace, Log: c.Log}
	drifted := c.drifted(g.memory.inventory, p.todo)
	result, err := executor.Execute(ctx, p.todo)
	c.reportRepairs(g.network, result.Outcomes, drifted)
	var actions []plan.Action
	for _, o := range result.Outcomes {
		actions = append(actions, o.Action)
		if o.Err == nil && o.Writes() {
			c.conflicts.wrote(o.Action, c.Now())
			d.again = sooner(d.again, c.conflicts[o.Key].wait)
		}
	}
	d.keep(actions)
	// Kinds that the plan has created are served now.
	if err := c.Operands.Watch(ctx, operands(g, ch)); err != nil {
		return err
	}
	c.settle(ctx)
	return err
}

// settle waits until the cache has caught up with what was written.
func (c *Controller) settle(ctx context.Context) {
	deadline := time.NewTimer(catchUp)
	defer deadline.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for c.behind() {
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			c.Log.Warn("the watch is slow to show what was written")
			return
		case <-poll.C:
		}
	}
}

// behind reports whether the cache lacks something that was written, and forgets what it has. The ConfigMaps of the records are not
// waited for: they are read from the API server until the cache has them.
func (c *Controller) behind() bool {
	behind := false
	for key, written := range c.api.pending() {
		if key.Kind == "ConfigMap" && key.Namespace == c.Namespace {
			continue
		}
		if version(c.Operands.Seen(key)) >= written {
			c.api.forget(key)
			continue
		}
		behind = true
	}
	return behind
}

// finish records that everything is applied.
func (c *Controller) finish(ctx context.Context, network *operatorv1.Network, ch *chosen, known memory) error {
	if known.record.State == applied.StateApplying {
		finished, revision, err := known.record.MarkApplied(c.Now())
		if err != nil {
			return fmt.Errorf("record that the network is applied: %w", err)
		}
		if err := c.conclude(ctx, known.history, finished, revision); err != nil {
			return err
		}
		c.Log.Info("applied", "revision", revision.Number, "hash", revision.Hash, "forced", revision.Forced)
		c.Events.Normal(network, "NetworkApplied", fmt.Sprintf("revision %d of the network is applied", revision.Number))
		known.record, known.history = finished, known.history.Append(revision)
		if c.OnApplied != nil {
			c.OnApplied(finished.Current().Spec())
		}
	}
	return c.confirm(ctx, network, ch, known)
}

// confirm records that what was applied works, once it does. Until then, progress of the workloads starts a reconcile.
func (c *Controller) confirm(ctx context.Context, network *operatorv1.Network, ch *chosen, known memory) error {
	if known.record.State != applied.StateApplied || !known.record.Settling {
		return nil
	}
	works, err := c.healthy(ctx, ch.desired)
	if err != nil {
		return err
	}
	if !works {
		c.waiting.Store(true)
		return nil
	}
	finished, revision, err := known.record.MarkHealthy(c.Now())
	if err != nil {
		return fmt.Errorf("record that the network is healthy: %w", err)
	}
	if err := c.conclude(ctx, known.history, finished, revision); err != nil {
		return err
	}
	c.Log.Info("healthy", "revision", revision.Number)
	c.Events.Normal(network, "NetworkHealthy", fmt.Sprintf("revision %d of the network works on all nodes", revision.Number))
	if ch.turn.HoldConfig || ch.turn.HoldVersion {
		c.Changed.Fire() // what has waited continues
	}
	return nil
}

// conclude saves a revision in the history, and then the record: after a crash in between, the record makes the same revision again.
func (c *Controller) conclude(ctx context.Context, history applied.History, record applied.Record, revision applied.Revision) error {
	if err := c.records.remember(ctx, history, revision); err != nil {
		return err
	}
	return c.records.save(ctx, record)
}

// healthy reports whether all critical workloads that are desired work in their current form.
func (c *Controller) healthy(ctx context.Context, desired []manifest.Object) (bool, error) {
	down, err := c.nodesNotResponding(ctx)
	if err != nil {
		return false, err
	}
	for _, o := range desired {
		if o.Policy.NonCritical || !manifest.IsWorkload(o.Key().GroupKind()) {
			continue
		}
		live, found := c.Operands.Live(o.Key())
		if !found || !rollout.Healthy(live, down) {
			return false, nil
		}
	}
	return true, nil
}
