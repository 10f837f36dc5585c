package hostapply

import (
	"context"
	"errors"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// recover completes a verified change of a process that ended early, and undoes any other change.
func (e *Engine) recover(ctx context.Context, j entry) (Result, error) {
	change, err := e.change(j.Source, j.Document)
	if err != nil {
		return Broken, err
	}
	e.Log.Warn("an earlier run was interrupted", "document", j.Source.String(), "stage", j.Stage, "began", j.Started)
	if j.Stage == committing {
		return e.commitAgain(ctx, j, change)
	}
	if err := e.restore(context.WithoutCancel(ctx), change, j); err != nil {
		return Broken, fmt.Errorf("restore the network after an interrupted change: %w", err)
	}
	s, err := e.load()
	s.reject(j, "the process died while it applied "+j.Source.String()+" on request; the earlier network was restored")
	if err == nil && j.Stage == applying {
		if s.Suspect != j.Source.SHA256 {
			s.Suspect, s.Interrupted = j.Source.SHA256, 0
		}
		s.Interrupted++
	}
	if err := errors.Join(err, e.save(s), e.closeJournal()); err != nil {
		return Broken, err
	}
	e.Log.Info("the network before that run is restored")
	return RolledBack, nil
}

// commitAgain completes a verified change. If a power failure has undone it, the change is applied again, with the same snapshot.
func (e *Engine) commitAgain(ctx context.Context, j entry, change Change) (Result, error) {
	e.step("commit again")
	if err := e.Backend.Commit(ctx, change, j.Snapshot); err == nil {
		live, err := e.Backend.Live(ctx)
		if err != nil {
			return Broken, fmt.Errorf("read the host's network: %w", err)
		}
		if len(livestate.Compare(change.Document, live)) == 0 {
			return Applied, e.finish(j)
		}
	}
	result, _, err := e.attempt(ctx, j, change)
	return result, err
}
