package hostapply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// attempt carries out a change with a prepared journal entry: it applies, verifies and commits it, or rolls back.
func (e *Engine) attempt(ctx context.Context, j entry, change Change) (Result, []livestate.Difference, error) {
	e.Log.Info("applying", "document", j.Source.String(), "sha256", j.Source.SHA256)
	differences, err := e.applyAndVerify(ctx, change, j)
	if err != nil {
		return e.rollBack(ctx, j, change, differences, err)
	}
	j.Stage = committing
	if err := e.record(j); err != nil {
		return e.rollBack(ctx, j, change, nil, err)
	}
	e.step("commit")
	if err := e.Backend.Commit(ctx, change, j.Snapshot); err != nil {
		return e.rollBack(ctx, j, change, nil, fmt.Errorf("commit: %w", err))
	}
	if err := e.finish(j); err != nil {
		return Broken, nil, err
	}
	e.Log.Info("applied and verified", "document", j.Source.String())
	return Applied, nil, nil
}

// prepare takes the snapshot and writes the journal. It does not change the network.
func (e *Engine) prepare(ctx context.Context, change Change, j entry) (entry, error) {
	j.Stage, j.Started = applying, e.Now()
	e.step("snapshot")
	var err error
	if j.Snapshot, err = e.Backend.Snapshot(ctx, change); err != nil {
		return entry{}, fmt.Errorf("take a snapshot of the host's network: %w", err)
	}
	for _, target := range e.Targets {
		if e.probeTarget(ctx, target) == nil {
			j.Before = append(j.Before, target)
		}
	}
	return j, e.record(j)
}

func (e *Engine) applyAndVerify(ctx context.Context, change Change, j entry) ([]livestate.Difference, error) {
	limited, cancel := context.WithTimeout(ctx, e.Limits.Apply)
	defer cancel()
	e.step("apply")
	if err := e.Backend.Apply(limited, change); err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	return e.verify(ctx, change.Document, j.Before)
}

// finish records the end of a change. It writes the state before it closes the journal, so that after a crash in between only idempotent steps are
// repeated.
func (e *Engine) finish(j entry) error {
	if e.Applied != "" && !j.Source.Automatic && j.Rejected == nil {
		e.step("write marker")
		if err := durable.WriteFile(e.Applied, j.Content, 0o644); err != nil {
			return fmt.Errorf("write marker: %w", err)
		}
	}
	err := e.save(state{Applied: &applied{Source: j.Source, Document: j.Document, Boot: e.Boot, Time: e.Now()}, Rejected: j.Rejected})
	if err != nil {
		return err
	}
	return e.closeJournal()
}

// rollBack restores the snapshot, even if the context is canceled, and returns the reason.
func (e *Engine) rollBack(ctx context.Context, j entry, change Change, differences []livestate.Difference, why error) (Result, []livestate.Difference, error) {
	ctx = context.WithoutCancel(ctx)
	e.Log.Error("rolling back", "document", j.Source.String(), "because", why)
	j.Stage, j.Reason = restoring, why.Error()
	// If the journal cannot be written, its stage is still applying, which has the same effect.
	err := e.record(j)
	if err := errors.Join(err, e.restore(ctx, change, j)); err != nil {
		return Broken, differences, fmt.Errorf("%w; and the previous state could not be restored: %w", why, err)
	}
	s, err := e.load()
	if err == nil && s.Applied != nil && s.Applied.Source.SHA256 == j.Source.SHA256 {
		s.Applied = nil // resolve its captures again the next time
	}
	s.Interrupted, s.Suspect = 0, ""
	s.reject(j, why.Error())
	if err := errors.Join(err, e.save(s), e.closeJournal()); err != nil {
		return Broken, differences, fmt.Errorf("%w; rolled back, but: %w", why, err)
	}
	return RolledBack, differences, fmt.Errorf("%w; rolled back to the network as it was", why)
}

// restore restores the snapshot, and verifies that the targets that answered before the change answer again. It retries several times.
func (e *Engine) restore(ctx context.Context, change Change, j entry) error {
	var failures []error
	for try := range e.Limits.Tries {
		if try > 0 {
			if err := e.Wait(ctx, e.Limits.Poll); err != nil {
				return err
			}
		}
		e.step("restore")
		limited, cancel := context.WithTimeout(ctx, e.Limits.Restore)
		err := e.Backend.Restore(limited, change, j.Snapshot)
		cancel()
		if err == nil {
			return e.waitReachable(ctx, j.Before)
		}
		failures = append(failures, err)
	}
	return errors.Join(slices.Compact(failures)...)
}
