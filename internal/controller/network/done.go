package network

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/rollout"
)

// cacheTimeout is the maximum wait for the cache to contain what was written. After that, the next reconcile may repeat a write, which is
// harmless.
const cacheTimeout = 2 * time.Second

// done is the result of applying the plan.
type done struct {
	// applied is true if all desired objects are applied.
	applied bool
	// kept are the actions for objects that are no longer desired but stay.
	kept []plan.Action
	// repairAfter is the time until an object in back-off is repaired; 0 means never.
	repairAfter time.Duration
}

// do executes the plan and updates the record: the intent is recorded before the first change, and the revision is recorded as applied
// after the last one.
func (c *Controller) do(ctx context.Context, g *gathered, ch *chosen, p *planned) (done, error) {
	var d done
	m := g.memory
	if g.corrupt == nil {
		var err error
		m.decision = c.detectInUse(m.decision, ch.desired)
		if m, err = c.begin(ctx, g.network, ch, m); err != nil {
			return d, err
		}
	}
	d.recordKept(p.todo.Actions)
	c.waiting.Store(len(d.kept) > 0)
	if !p.todo.Converged() {
		err := c.execute(ctx, g, ch, p, &d)
		c.waiting.Store(len(d.kept) > 0)
		if err != nil {
			return d, err
		}
	}
	if g.corrupt != nil || ch.incomplete() != "" {
		d.applied = m.record.State == applied.StateApplied
		return d, nil
	}
	d.applied = true
	return d, c.finish(ctx, g.network, ch, m)
}

// detectInUse returns Forced for a cluster that has live objects of the operator although record, inventory and history are lost. The
// network is in use, and the specification is applied without checks.
func (c *Controller) detectInUse(decision applied.Decision, desired []manifest.Object) applied.Decision {
	live := func(o manifest.Object) bool { _, exists := c.Operands.Live(o.Key()); return exists }
	if decision == applied.Fresh && slices.ContainsFunc(desired, live) {
		return applied.Forced
	}
	return decision
}

// begin records the intent unless it is recorded.
func (c *Controller) begin(ctx context.Context, network *operatorv1.Network, ch *chosen, m memory) (memory, error) {
	before := m.record
	intent, err := applied.NewSnapshot(ch.result.Spec)
	if err != nil {
		return m, err
	}
	start := applied.Start{
		Intent: intent, Number: m.history.Next(before), OperatorVersion: ch.facts.ReleaseVersion, Images: ch.facts.Images,
		Forced: m.decision == applied.Forced, By: lastManager(network),
	}
	if setRollback(&start, before, ch.turn) {
		c.Events.Warning(network, rollout.ReasonRolledBack, ch.turn.Message)
	}
	if ch.result.Acknowledged {
		start.Acknowledged = ch.result.Acknowledgement
	}
	if m.decision == applied.Recovered {
		c.Log.Warn("record and inventory are missing; changes are checked against the history", "revision", before.Number)
		c.Events.Warning(network, "RecordRecovered", fmt.Sprintf("the record of the applied network is missing, and is restored from revision %d in %s", before.Number, applied.HistoryConfigMapName))
		if err := c.records.save(ctx, before); err != nil {
			return m, err
		}
	}
	next := before.Begin(start)
	if !maps.Equal(next.Encode(), before.Encode()) {
		if m.history, err = c.replace(ctx, before, m.history, ch.turn); err != nil {
			return m, err
		}
		if start.Forced {
			c.Events.Warning(network, "ForcedChange", "the record of the applied network is missing: the specification is applied without checking that the change is safe")
		}
		if before.Baseline() == nil {
			c.reportDetected(network, ch.result.Detected)
		}
		c.Log.Info("rolling out", "revision", next.Number, "hash", intent.Hash(), "forced", start.Forced)
		if err := c.records.save(ctx, next); err != nil {
			return m, err
		}
	}
	m.record = next
	if next.State != applied.StateIntent {
		return m, nil
	}
	if m.record, err = next.MarkApplying(); err != nil {
		return m, err
	}
	return m, c.records.save(ctx, m.record)
}

// reportDetected reports the values of omitted fields when they are recorded.
func (c *Controller) reportDetected(network *operatorv1.Network, found []pipeline.Detected) {
	if len(found) == 0 {
		return
	}
	texts := make([]string, len(found))
	for i, d := range found {
		texts[i] = d.String()
	}
	message := "the specification omits these fields: " + strings.Join(texts, "; ")
	c.Log.Info(message)
	c.Events.Normal(network, eventDetected, message)
}

// replace appends the previous revision to the history if another one replaces it before it was healthy.
func (c *Controller) replace(ctx context.Context, before applied.Record, history applied.History, turn rollout.Turn) (applied.History, error) {
	outcome := applied.OutcomeAbandoned
	switch {
	case turn.Back != nil:
		outcome = applied.OutcomeRolledBack
	case !before.Unfinished():
		return history, nil
	}
	revision := before.Revision(outcome, c.Now())
	return history.Append(revision), c.records.appendHistory(ctx, history, revision)
}

// setRollback completes the start of a rollback, or of a rollout while one is held back. It reports whether it is a rollback.
func setRollback(start *applied.Start, before applied.Record, turn rollout.Turn) bool {
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

// recordKept sets kept from the actions.
func (d *done) recordKept(actions []plan.Action) {
	d.kept = nil
	for _, a := range actions {
		if a.Verb == plan.Keep {
			d.kept = append(d.kept, a)
		}
	}
}

// execute executes the plan and waits for the cache.
func (c *Controller) execute(ctx context.Context, g *gathered, ch *chosen, p *planned, d *done) error {
	executor := apply.Executor{Client: c.api, Namespace: c.Namespace, Log: c.Log}
	drifted := c.drifted(g.memory.inventory, p.todo)
	result, err := executor.Execute(ctx, p.todo)
	c.reportRepairs(g.network, result.Outcomes, drifted)
	var actions []plan.Action
	for _, o := range result.Outcomes {
		actions = append(actions, o.Action)
		if o.Err == nil && o.Writes() {
			c.conflicts.recordWrite(o.Action, c.Now())
			d.repairAfter = sooner(d.repairAfter, c.conflicts[o.Key].wait)
		}
	}
	d.recordKept(actions)
	// Kinds whose CRD the plan has created are available now.
	if err := c.Operands.Watch(ctx, operands(g, ch)); err != nil {
		return err
	}
	c.waitForCache(ctx)
	return err
}

// waitForCache waits until the cache contains what was written.
func (c *Controller) waitForCache(ctx context.Context) {
	deadline := time.NewTimer(cacheTimeout)
	defer deadline.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for c.behind() {
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			c.Log.Warn("the cache does not contain the written objects in time")
			return
		case <-poll.C:
		}
	}
}

// behind reports whether the cache lacks written objects, and forgets those that it has. The ConfigMaps of the records are excluded: they
// are read from the API server until the cache has them.
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

// finish records that the revision is applied.
func (c *Controller) finish(ctx context.Context, network *operatorv1.Network, ch *chosen, m memory) error {
	if m.record.State == applied.StateApplying {
		finished, revision, err := m.record.MarkApplied(c.Now())
		if err != nil {
			return fmt.Errorf("record that the network is applied: %w", err)
		}
		if err := c.saveRevision(ctx, m.history, finished, revision); err != nil {
			return err
		}
		c.Log.Info("applied", "revision", revision.Number, "hash", revision.Hash, "forced", revision.Forced)
		c.Events.Normal(network, "NetworkApplied", fmt.Sprintf("revision %d of the network is applied", revision.Number))
		m.record, m.history = finished, m.history.Append(revision)
		if c.OnApplied != nil {
			c.OnApplied(finished.Current().Spec())
		}
	}
	return c.confirm(ctx, network, ch, m)
}

// confirm records that the applied revision is healthy. Until it is, progress of the workloads starts reconciles.
func (c *Controller) confirm(ctx context.Context, network *operatorv1.Network, ch *chosen, m memory) error {
	if m.record.State != applied.StateApplied || !m.record.Settling {
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
	finished, revision, err := m.record.MarkHealthy(c.Now())
	if err != nil {
		return fmt.Errorf("record that the network is healthy: %w", err)
	}
	if err := c.saveRevision(ctx, m.history, finished, revision); err != nil {
		return err
	}
	c.Log.Info("healthy", "revision", revision.Number)
	c.Events.Normal(network, "NetworkHealthy", fmt.Sprintf("revision %d of the network works on all nodes", revision.Number))
	if ch.turn.HoldConfig || ch.turn.HoldVersion {
		c.Changed.Fire() // held changes continue
	}
	return nil
}

// saveRevision saves a revision in the history, and then the record. After a crash in between, the same revision is saved again.
func (c *Controller) saveRevision(ctx context.Context, history applied.History, record applied.Record, revision applied.Revision) error {
	if err := c.records.appendHistory(ctx, history, revision); err != nil {
		return err
	}
	return c.records.save(ctx, record)
}

// healthy reports whether all critical desired workloads are healthy in their current revision.
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
