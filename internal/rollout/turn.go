package rollout

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/applied"
)

// The reasons of postponed and of rolled back changes.
const (
	ReasonConfigWaits  = "ConfigWaitsForUpgrade"
	ReasonUpgradeWaits = "UpgradeWaitsForConfig"
	ReasonRolledBack   = "RolledBack"
)

// State is the state of the cluster and the desired change.
type State struct {
	Record  applied.Record
	History applied.History
	// Wanted is the filled desired specification; Version the version of this operator.
	Wanted  applied.Snapshot
	Version string
	Images  map[string]string
	// Migrating is true during an MTU migration, in which the version must not change.
	Migrating bool
	// Stalled describes the stalled rollouts in a sentence; empty if there are none.
	Stalled string
	// AutoRollback is true if a stalled rollout is to be rolled back automatically.
	AutoRollback bool
}

// Turn is the decision about what may be rolled out now.
type Turn struct {
	// HoldConfig keeps the specification of the record active, HoldVersion the images and the version.
	HoldConfig, HoldVersion bool
	// Back is the revision to roll back to, with its specification, images and version; nil for no rollback.
	Back *applied.Revision
	// Reason and Message are the cause of a postponed or rolled back change. Both are empty if there is none.
	Reason, Message string
}

// Next decides the next rollout. A change of the specification and a new version of the operands are never rolled out
// together: the second one waits until the first is healthy, so that a failure has one cause. A stalled rollout does not
// block the next change, which may repair it, unless AutoRollback is true. A change that was rolled back is not repeated
// before it has changed.
func Next(s State) Turn {
	r := s.Record
	if r.State == "" || r.Baseline() == nil {
		return Turn{}
	}
	if t, back := s.back(); back {
		return t
	}
	if t, rejected := s.rejected(); rejected {
		return t
	}
	config, upgrade := !r.Current().Equal(s.Wanted), r.OperatorVersion != "" && !r.Runs(s.Version, s.Images)
	busy := (r.Unfinished() || r.Settling) && s.Stalled == ""
	switch {
	case s.Migrating && upgrade:
		return Turn{HoldVersion: true, Reason: ReasonUpgradeWaits,
			Message: fmt.Sprintf("version %s waits until the MTU migration, which continues in version %s, has finished and spec.migration is removed", s.Version, r.OperatorVersion)}
	case busy && upgrade && r.Kind != applied.KindUpgrade:
		// A change during a rollout of a change is no upgrade.
		return Turn{HoldVersion: true, Reason: ReasonUpgradeWaits,
			Message: fmt.Sprintf("version %s waits until revision %d of the configuration, which is being rolled out in version %s, is healthy", s.Version, r.Number, r.OperatorVersion)}
	case config && (upgrade || busy && r.Kind == applied.KindUpgrade):
		return Turn{HoldConfig: true, Reason: ReasonConfigWaits,
			Message: fmt.Sprintf("the change of the configuration waits until version %s, which is being rolled out, is healthy", s.Version)}
	}
	return Turn{}
}

// back decides to roll back a stalled rollout to the last healthy revision.
func (s State) back() (Turn, bool) {
	r := s.Record
	if s.Stalled == "" || !s.AutoRollback || r.State != applied.StateApplied || !r.Settling || r.Kind == applied.KindRollback {
		return Turn{}, false
	}
	good, ok := s.History.Healthy(r.Number)
	if !ok {
		return Turn{}, false
	}
	return Turn{Back: &good, Reason: ReasonRolledBack, Message: fmt.Sprintf("revision %d of version %s is stalled (%s): revision %d of version %s is rolled out again",
		r.Number, r.OperatorVersion, s.Stalled, good.Number, good.OperatorVersion)}, true
}

// rejected postpones a change that was rolled back: the operands if they were new, the specification otherwise.
func (s State) rejected() (Turn, bool) {
	rejected := s.Record.Rejected
	t := Turn{Reason: ReasonRolledBack, Message: rejected.Why}
	switch {
	case rejected.Operands != "" && rejected.Operands == applied.Operands(s.Version, s.Images):
		t.HoldVersion = true
		t.Message += "; it is retried with the next version of the operator"
	case rejected.Hash != "" && rejected.Hash == s.Wanted.Hash():
		t.HoldConfig = true
		t.Message += "; change the specification to continue"
	default:
		return Turn{}, false
	}
	return t, true
}
