package applied

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// ConfigMapName is the name of the ConfigMap of the record, in the operator's namespace.
const ConfigMapName = "applied-cluster"

// State is the progress of a rollout.
type State string

// The states of a record, in the order of a rollout.
const (
	// StateIntent means that the rollout has been decided and no object has been sent.
	StateIntent State = "intent"
	// StateApplying means that some of the objects may have been changed.
	StateApplying State = "applying"
	// StateApplied means that all objects were applied.
	StateApplied State = "applied"
)

// Kind is the kind of a rollout.
type Kind string

// The kinds of rollouts. The empty kind means unknown.
const (
	KindInstall  Kind = "install"
	KindConfig   Kind = "config"
	KindUpgrade  Kind = "upgrade"
	KindRollback Kind = "rollback"
)

// Rejected identifies a rollout that stalled and was rolled back: by its operands, or by the hash of its specification. The zero
// value means none.
type Rejected struct {
	// Operands is the result of the function Operands.
	Operands string `json:"operands,omitempty"`
	Hash     string `json:"hash,omitempty"`
	// Why is the cause of the stalled rollout, as a sentence.
	Why string `json:"why,omitempty"`
}

// ErrState is the error of a transition that the state of the record does not allow. It is a bug of the caller.
var ErrState = errors.New("the record is in another state")

// Record has the applied network and the one that is being rolled out. The zero value is the record of a new cluster. It is
// immutable: methods return new records, which the caller stores.
type Record struct {
	State State
	// Applied is the last completely applied specification. It is zero during the first installation, and after a forced change has begun.
	Applied Snapshot
	// Intent is the specification that is being rolled out. It is zero in StateApplied.
	Intent Snapshot
	// Number is the number of the revision of Intent, or of Applied if there is no Intent. 0 means that another operator
	// wrote the record.
	Number int
	// Base is the number of the revision of Applied while Number is that of Intent; otherwise 0.
	Base int
	// OperatorVersion is the version of the operator that started the revision.
	OperatorVersion string
	// Acknowledged is the hash with which a user has acknowledged the change; empty if it needed none.
	Acknowledged string
	// UsedUp is the previous hash with which a user has acknowledged a change.
	UsedUp string
	// By is the field manager that wrote the specification of the revision; empty if unknown.
	By string
	// Forced is true if the revision was not checked against the previous one, since the record had been deleted.
	Forced bool

	// Kind is the kind of the rollout.
	Kind Kind
	// Settling is true from the start of a rollout until the network was healthy.
	Settling bool
	// Images are those with which the revision is rendered, by environment variable.
	Images map[string]string
	// Rejected identifies a rollout that must not be repeated without changes.
	Rejected Rejected

	other map[string]string // keys of a newer operator
}

// Start has the arguments of Begin.
type Start struct {
	// Intent is the filled specification to roll out. It must not be zero.
	Intent Snapshot
	// Number is the number of the new revision; see History.Next.
	Number int
	// OperatorVersion is the version of this operator.
	OperatorVersion string
	// Forced is true if Decide returned Forced.
	Forced bool
	// Acknowledged is the hash with which the change was acknowledged, if it was.
	Acknowledged string
	// By is the field manager that wrote the specification last.
	By string
	// Images are those with which it is rendered.
	Images map[string]string
	// Back is true for a rollback, and Rejected identifies the rollout that is rolled back. It is kept until a different
	// revision is rolled out.
	Back     bool
	Rejected Rejected
}

// Unfinished reports whether a rollout has begun and not finished.
func (r Record) Unfinished() bool { return r.State == StateIntent || r.State == StateApplying }

// Begin returns the record at the start of a rollout. It returns the same record, which need not be stored, if the same
// version of the operator has already applied the intent or is rolling it out. Otherwise the caller stores the record before
// it changes any object. If an unfinished rollout is replaced, the caller first appends Revision(OutcomeAbandoned).
func (r Record) Begin(s Start) Record {
	if r.Current().Equal(s.Intent) && r.Runs(s.OperatorVersion, s.Images) && (r.Forced || !s.Forced) && r.Rejected == s.Rejected {
		return r
	}
	next := r
	if r.State == StateApplied {
		next.Base = r.Number
	}
	next.Intent, next.Number, next.OperatorVersion, next.Forced = s.Intent, s.Number, s.OperatorVersion, s.Forced
	next.Acknowledged, next.By, next.Images, next.Rejected = s.Acknowledged, s.By, s.Images, s.Rejected
	next.Kind, next.Settling = r.kind(s), true
	if r.Acknowledged != "" {
		next.UsedUp = r.Acknowledged
	}
	// Objects of an unfinished rollout that is replaced may exist: then the new one has objects in the cluster as well.
	if r.State != StateApplying {
		next.State = StateIntent
	}
	return next
}

// Operands returns a hash of a version and its images.
func Operands(version string, images map[string]string) string {
	sum := sha256.New()
	for _, variable := range slices.Sorted(maps.Keys(images)) {
		fmt.Fprintf(sum, "%q=%q\n", variable, images[variable])
	}
	return version + "/" + hex.EncodeToString(sum.Sum(nil)[:8])
}

// Runs reports whether the revision is rendered with a version of the operands and their images. Unknown images count as
// equal.
func (r Record) Runs(version string, images map[string]string) bool {
	return r.OperatorVersion == version && (r.Images == nil || images == nil || maps.Equal(r.Images, images))
}

// kind returns the kind of a rollout that begins now.
func (r Record) kind(s Start) Kind {
	switch {
	case s.Back:
		return KindRollback
	case r.State == "":
		return KindInstall
	case r.Current().Equal(s.Intent) && !r.Runs(s.OperatorVersion, s.Images):
		return KindUpgrade
	}
	return KindConfig
}

// Current returns the specification that is being rolled out, or the applied one.
func (r Record) Current() Snapshot {
	if r.Unfinished() {
		return r.Intent
	}
	return r.Applied
}

// MarkHealthy returns the record and the revision for the history after the network has become healthy.
func (r Record) MarkHealthy(now time.Time) (Record, Revision, error) {
	if r.State != StateApplied {
		return Record{}, Revision{}, ErrState
	}
	r.Settling = false
	return r, r.Revision(OutcomeHealthy, now), nil
}

// MarkApplying returns the record to store before the first object is changed.
func (r Record) MarkApplying() (Record, error) {
	if !r.Unfinished() {
		return Record{}, ErrState
	}
	r.State = StateApplying
	return r, nil
}

// MarkApplied returns the record to store when all objects have been applied, and the revision to append to the history.
// The caller stores the history first: if the operator stops between both writes, repeating them changes nothing.
func (r Record) MarkApplied(now time.Time) (Record, Revision, error) {
	if r.State != StateApplying {
		return Record{}, Revision{}, ErrState
	}
	rev := r.Revision(OutcomeApplied, now)
	r.State, r.Applied, r.Intent, r.Base = StateApplied, r.Intent, Snapshot{}, 0
	return r, rev, nil
}

// Revision returns the entry for the history of the current specification.
func (r Record) Revision(o Outcome, now time.Time) Revision {
	s := r.Current()
	return Revision{
		Number: r.Number, Hash: s.Hash(), Spec: []byte(s.raw), OperatorVersion: r.OperatorVersion,
		Time: now.UTC().Truncate(time.Second), Outcome: o, Forced: r.Forced, Acknowledged: r.Acknowledged, By: r.By, Kind: r.Kind, Images: r.Images,
	}
}

// Baseline returns the specification against which a change is checked, and which stays active if it is refused: the one
// that is being rolled out once objects of it may exist, or else the applied one. It is nil on a new cluster, and before
// objects of a forced change may exist.
func (r Record) Baseline() *operatorv1.NetworkSpec {
	if r.State == StateApplying {
		return r.Intent.Spec()
	}
	return r.Applied.Spec()
}

// BaselineNumber returns the number of the revision of Baseline; 0 if there is none, or if another operator wrote it.
func (r Record) BaselineNumber() int {
	if r.State == StateIntent {
		return r.Base
	}
	return r.Number
}
