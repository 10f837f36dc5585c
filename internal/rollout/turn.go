package rollout

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/applied"
)

// Reasons of what is put off, and of what was taken back.
const (
	ReasonConfigWaits  = "ConfigWaitsForUpgrade"
	ReasonUpgradeWaits = "UpgradeWaitsForConfig"
	ReasonRolledBack   = "RolledBack"
)

// Standing is how things stand when there is something to roll out.
type Standing struct {
	Record  applied.Record
	History applied.History
	// Wanted is the specification that is wanted, filled; Version the version of this operator.
	Wanted  applied.Snapshot
	Version string
	Images  map[string]string
	// Migrating is true while the MTU is being changed, which no version may come into.
	Migrating bool
	// Hung says what hangs, in a sentence; empty if nothing does.
	Hung string
	// AutoRollback is true if the user wants a rollout that hangs to be taken back.
	AutoRollback bool
}

// Turn says what may be rolled out now.
type Turn struct {
	// HoldConfig keeps the specification of the record in effect, HoldVersion the images and the version.
	HoldConfig, HoldVersion bool
	// Back is the revision to go back to, with its specification, images and version; nil if there is no reason to.
	Back *applied.Revision
	// Reason and Message say why something is held or taken back. Both are empty if nothing is.
	Reason, Message string
}

// Next decides whose turn it is. A change of the specification and a new version of the operands exclude each other:
// whichever comes second waits until the first is healthy, so that what goes wrong has one cause. A rollout that
// hangs holds nothing up, since what comes next may be its cure, unless the user wants it taken back. What was taken
// back is not tried again before it has changed.
func Next(s Standing) Turn {
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
	busy := (r.Unfinished() || r.Settling) && s.Hung == ""
	switch {
	case s.Migrating && upgrade:
		return Turn{HoldVersion: true, Reason: ReasonUpgradeWaits,
			Message: fmt.Sprintf("version %s waits until the MTU migration, which continues in version %s, has finished and spec.migration is removed", s.Version, r.OperatorVersion)}
	case busy && upgrade && r.Kind != applied.KindUpgrade:
		// A change of the change that is under way is no upgrade.
		return Turn{HoldVersion: true, Reason: ReasonUpgradeWaits,
			Message: fmt.Sprintf("version %s waits until revision %d of the configuration, which is being rolled out in version %s, is healthy", s.Version, r.Number, r.OperatorVersion)}
	case config && (upgrade || busy && r.Kind == applied.KindUpgrade):
		return Turn{HoldConfig: true, Reason: ReasonConfigWaits,
			Message: fmt.Sprintf("the change of the configuration waits until version %s, which is being rolled out, is healthy", s.Version)}
	}
	return Turn{}
}

// back goes back to the last revision that was healthy, when the present one hangs.
func (s Standing) back() (Turn, bool) {
	r := s.Record
	if s.Hung == "" || !s.AutoRollback || r.State != applied.StateApplied || !r.Settling || r.Kind == applied.KindRollback {
		return Turn{}, false
	}
	good, ok := s.History.Healthy(r.Number)
	if !ok {
		return Turn{}, false
	}
	return Turn{Back: &good, Reason: ReasonRolledBack, Message: fmt.Sprintf("revision %d of version %s hangs (%s): revision %d of version %s is rolled out again",
		r.Number, r.OperatorVersion, s.Hung, good.Number, good.OperatorVersion)}, true
}

// rejected holds what was taken back: operands if they were new, the specification otherwise.
func (s Standing) rejected() (Turn, bool) {
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
