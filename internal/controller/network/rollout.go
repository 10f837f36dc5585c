package network

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/rollout"
)

// catchUp is how long the cache may take to show what was written. When it takes longer, the next pass may write
// something again, which does no harm.
const catchUp = 2 * time.Second

// rollOut plans and does what is missing, and keeps the record: what is intended is written down before anything
// is changed, and that it is applied only when all of it has been.
func (p *pass) rollOut(ctx context.Context) error {
	if err := p.Operands.Watch(ctx, p.operands()); err != nil {
		return err
	}
	if err := p.gate(ctx); err != nil {
		return err
	}
	todo, err := plan.Make(plan.Input{
		Desired: p.desired, Live: p.Operands.Live, Inventory: p.memory.inventory,
		Serves: p.Operands.Serves, Incomplete: p.incomplete(),
	})
	if err != nil {
		return err
	}
	p.rest(ctx, &todo)
	record := p.memory.record
	if p.corrupt == nil {
		p.notFresh()
		if record, err = p.begin(ctx); err != nil {
			return err
		}
	}
	p.look(todo.Actions)
	if !todo.Converged() {
		if err := p.execute(ctx, todo); err != nil {
			return err
		}
	}
	if p.corrupt != nil {
		p.applied = record.State == applied.StateApplied
		return nil
	}
	return p.finish(ctx, record)
}

// notFresh takes a cluster with live objects of the operator for what it is, although records, inventory and history are
// lost: a network is in use, and the specification is applied to it without a check.
func (p *pass) notFresh() {
	if p.memory.decision != applied.Fresh {
		return
	}
	if slices.ContainsFunc(p.desired, func(o manifest.Object) bool { _, live := p.Operands.Live(o.Key()); return live }) {
		p.memory.decision = applied.Forced
	}
}

// rest ignores what others change over and over, and finds out who they are where it does not. What cannot be read
// is left to the next time.
func (p *pass) rest(ctx context.Context, todo *plan.Plan) {
	goOn, again := p.fights.rest(todo, p.Now())
	p.again = sooner(p.again, again)
	for _, a := range goOn {
		var fields []metav1.ManagedFieldsEntry
		if a.Verb != plan.Create {
			ref := apply.Ref{GroupVersionKind: a.GVK(), NamespacedName: types.NamespacedName{Namespace: a.Key.Namespace, Name: a.Key.Name}}
			live, err := p.api.Get(ctx, ref)
			if err != nil {
				continue
			}
			fields = live.GetManagedFields()
		}
		p.fights[a.Key].blame(fields)
	}
}

// begin writes down what is about to be applied, unless that is known already.
func (p *pass) begin(ctx context.Context) (applied.Record, error) {
	before := p.memory.record
	intent, err := applied.NewSnapshot(p.result.Spec)
	if err != nil {
		return before, err
	}
	forced := p.memory.decision == applied.Forced
	start := applied.Start{Intent: intent, Number: p.memory.history.Next(before), OperatorVersion: p.facts.ReleaseVersion, Images: p.facts.Images, Forced: forced, By: author(p.network)}
	p.takeBack(&start)
	if p.result.Acknowledged {
		start.Acknowledged = p.result.Acknowledgement
	}
	record := before.Begin(start)
	if p.memory.decision == applied.Recovered {
		p.Log.Warn("record and inventory are missing; changes are checked against the history", "revision", before.Number)
		p.Events.Warning(p.network, "RecordRecovered", fmt.Sprintf("the record of the applied network is missing, and is restored from revision %d in %s", before.Number, applied.HistoryConfigMapName))
		if err := p.records.save(ctx, before); err != nil {
			return before, err
		}
	}
	if !maps.Equal(record.Encode(), before.Encode()) {
		if outcome, told := p.outcome(before); told {
			if err := p.records.remember(ctx, p.memory.history, before.Revision(outcome, p.Now())); err != nil {
				return before, err
			}
			p.memory.history = p.memory.history.Append(before.Revision(outcome, p.Now()))
		}
		if forced {
			p.Events.Warning(p.network, "ForcedChange", "the record of the applied network is missing: the specification is applied without checking that the change is safe")
		}
		p.Log.Info("rolling out", "revision", record.Number, "hash", intent.Hash(), "forced", forced)
		if err := p.records.save(ctx, record); err != nil {
			return before, err
		}
	}
	if record.State != applied.StateIntent {
		return record, nil
	}
	if record, err = record.MarkApplying(); err != nil {
		return record, err
	}
	return record, p.records.save(ctx, record)
}

// look keeps the actions that only have something to say.
func (p *pass) look(actions []plan.Action) {
	p.kept = nil
	for _, a := range actions {
		if a.Verb == plan.Keep {
			p.kept = append(p.kept, a)
		}
	}
	p.waiting.Store(len(p.kept) > 0)
}

// execute carries out a plan and waits until the cache shows what it has done.
func (p *pass) execute(ctx context.Context, todo plan.Plan) error {
	executor := apply.Executor{Client: p.api, Namespace: p.Namespace, Log: p.Log}
	drifted := p.drifted(todo)
	result, err := executor.Execute(ctx, todo)
	p.tellDone(result.Outcomes, drifted)
	var actions []plan.Action
	for _, o := range result.Outcomes {
		actions = append(actions, o.Action)
		if o.Err == nil && o.Writes() {
			p.fights.wrote(o.Action, p.Now())
			p.again = sooner(p.again, p.fights[o.Key].truce)
		}
	}
	p.look(actions)
	// Kinds that the plan has brought are served now.
	if err := p.Operands.Watch(ctx, p.operands()); err != nil {
		return err
	}
	p.settle(ctx)
	return err
}

// settle waits until the cache has caught up with what was written.
func (p *pass) settle(ctx context.Context) {
	deadline := time.NewTimer(catchUp)
	defer deadline.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		behind := false
		for key, written := range p.api.pending() {
			if p.isRecord(key) {
				continue
			}
			if version(p.Operands.Seen(key)) >= written {
				p.api.forget(key)
				continue
			}
			behind = true
		}
		if !behind {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			p.Log.Warn("the watch is slow to show what was written")
			return
		case <-poll.C:
		}
	}
}

// isRecord reports whether an object is one of the ConfigMaps that records are kept in.
func (p *pass) isRecord(key manifest.Key) bool {
	return key.Kind == "ConfigMap" && key.Namespace == p.Namespace
}

// finish writes down that everything has been applied, if it has.
func (p *pass) finish(ctx context.Context, record applied.Record) error {
	if p.incomplete() != "" {
		p.applied = record.State == applied.StateApplied
		return nil
	}
	p.applied = true
	if record.State != applied.StateApplying {
		return p.confirm(ctx, record)
	}
	done, revision, err := record.MarkApplied(p.Now())
	if err != nil {
		return fmt.Errorf("record that the network is applied: %w", err)
	}
	if err := p.records.remember(ctx, p.memory.history, revision); err != nil {
		return err
	}
	if err := p.records.save(ctx, done); err != nil {
		return err
	}
	p.Log.Info("applied", "revision", revision.Number, "hash", revision.Hash, "forced", revision.Forced)
	p.Events.Normal(p.network, "NetworkApplied", fmt.Sprintf("revision %d of the network is applied", revision.Number))
	p.memory.history = p.memory.history.Append(revision)
	return p.confirm(ctx, done)
}

// confirm writes down that what was applied works, once it does. Until then, operands that get further start a pass.
func (p *pass) confirm(ctx context.Context, record applied.Record) error {
	if record.State != applied.StateApplied || !record.Settling {
		return nil
	}
	works, err := p.healthy(ctx)
	if err != nil {
		return err
	}
	if !works {
		p.waiting.Store(true)
		return nil
	}
	done, revision, err := record.MarkHealthy(p.Now())
	if err != nil {
		return fmt.Errorf("record that the network is healthy: %w", err)
	}
	if err := p.records.remember(ctx, p.memory.history, revision); err != nil {
		return err
	}
	if err := p.records.save(ctx, done); err != nil {
		return err
	}
	p.Log.Info("healthy", "revision", revision.Number)
	p.Events.Normal(p.network, "NetworkHealthy", fmt.Sprintf("revision %d of the network works on all nodes", revision.Number))
	if p.turn.HoldConfig || p.turn.HoldVersion {
		p.Changed.Fire() // what has waited goes on
	}
	return nil
}

// outcome says what becomes of the revision before, when another one takes its place.
func (p *pass) outcome(before applied.Record) (applied.Outcome, bool) {
	if p.turn.Back != nil {
		return applied.OutcomeRolledBack, true
	}
	return applied.OutcomeAbandoned, before.Unfinished()
}

// takeBack completes the beginning of a rollout that takes another one back, or while one is held back.
func (p *pass) takeBack(start *applied.Start) {
	before := p.memory.record
	switch {
	case p.turn.Back == nil && p.turn.Reason == rollout.ReasonRolledBack:
		start.Rejected = before.Rejected
	case p.turn.Back == nil:
	case !before.Runs(p.turn.Back.OperatorVersion, p.turn.Back.Images):
		start.Back, start.Rejected = true, applied.Rejected{Operands: applied.Operands(before.OperatorVersion, before.Images), Why: p.turn.Message}
	default:
		start.Back, start.Rejected = true, applied.Rejected{Hash: before.Applied.Hash(), Why: p.turn.Message}
	}
	if start.Back {
		p.Events.Warning(p.network, rollout.ReasonRolledBack, p.turn.Message)
	}
}
