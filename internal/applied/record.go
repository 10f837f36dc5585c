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

// State says how far a rollout is.
type State string

// The states of a record, in the order in which a rollout goes through them.
const (
	// StateIntent: it is decided what will be applied; nothing of it has been sent.
	StateIntent State = "intent"
	// StateApplying: some of the objects may have been changed.
	StateApplying State = "applying"
	// StateApplied: all objects were applied.
	StateApplied State = "applied"
)

// Kind says what a rollout is about.
type Kind string

// The kinds of rollouts. The empty kind is one of which that is not known.
const (
	KindInstall  Kind = "install"
	KindConfig   Kind = "config"
	KindUpgrade  Kind = "upgrade"
	KindRollback Kind = "rollback"
)

// Rejected names what was rolled out, hung, and was taken back: operands, or the hash of a specification. The zero value
// names nothing.
type Rejected struct {
	// Operands is what Operands returns of them.
	Operands string `json:"operands,omitempty"`
	Hash     string `json:"hash,omitempty"`
	// Why says what hung, in a sentence.
	Why string `json:"why,omitempty"`
}

// ErrState is the error of a step that does not fit the state of the record. It is a bug of the caller.
var ErrState = errors.New("the record is in another state")

// Record says which network is applied, and which is being rolled out. The zero value is the record of a fresh
// cluster. Its methods return new records: what is in the cluster changes when the caller writes them.
type Record struct {
	State State
	// Applied is what was applied last, whole. It is zero on the first install, and after a forced change has begun.
	Applied Snapshot
	// Intent is what is being rolled out. It is zero in StateApplied.
	Intent Snapshot
	// Number is that of the revision that Intent is, or Applied if there is no Intent. 0 is a record that another
	// operator wrote.
	Number int
	// Base is the number of the revision that Applied is, while Number is that of Intent; else 0.
	Base int
	// OperatorVersion is the version of the operator that began that revision.
	OperatorVersion string
	// Acknowledged is the hash with which someone has acknowledged the change; empty if it needed none.
	Acknowledged string
	// UsedUp is the last hash before that one with which someone has acknowledged a change.
	UsedUp string
	// By is the field manager that wrote the specification of that revision; empty if that is not known.
	By string
	// Forced is true if that revision was not checked against the one before, since the record had been deleted.
	Forced bool

	// Kind is what the revision is about.
	Kind Kind
	// Settling is true from the beginning of a rollout until all of it was seen to work.
	Settling bool
	// Images are those that the revision is rendered with, by the name of the environment variable.
	Images map[string]string
	// Rejected is what must not be rolled out again before it has changed.
	Rejected Rejected

	other map[string]string // keys of a newer operator
}

// Start says what a rollout begins with.
type Start struct {
	// Intent is what to roll out, filled. It must not be zero.
	Intent Snapshot
	// Number is that of the new revision; see History.Next.
	Number int
	// OperatorVersion is the version of this operator.
	OperatorVersion string
	// Forced is true if Decide said so.
	Forced bool
	// Acknowledged is the hash with which the change was acknowledged, if it was.
	Acknowledged string
	// By is the field manager that wrote the specification last.
	By string
	// Images are those that it is rendered with.
	Images map[string]string
	// Back is true for a rollout that takes another one back, Rejected is that one. It is kept until what is rolled out
	// is something else than what was held back.
	Back     bool
	Rejected Rejected
}

// Unfinished reports whether a rollout has begun and not ended.
func (r Record) Unfinished() bool { return r.State == StateIntent || r.State == StateApplying }

// Begin returns the record with which a rollout begins. The same record comes back, and nothing needs to be written,
// if the intent is already applied, or being rolled out, by the same version of the operator. Otherwise the caller
// writes it before it changes any object. When an unfinished rollout is replaced, first keep Revision(Abandoned).
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
	// Objects of a rollout that is replaced half way may be there: then the new one is under way, too.
	if r.State != StateApplying {
		next.State = StateIntent
	}
	return next
}

// Operands names a version and its images.
func Operands(version string, images map[string]string) string {
	sum := sha256.New()
	for _, variable := range slices.Sorted(maps.Keys(images)) {
		fmt.Fprintf(sum, "%q=%q\n", variable, images[variable])
	}
	return version + "/" + hex.EncodeToString(sum.Sum(nil)[:8])
}

// Runs reports whether the revision is rendered with a version of the operands and their images. Images that are not
// known are no others.
func (r Record) Runs(version string, images map[string]string) bool {
	return r.OperatorVersion == version && (r.Images == nil || images == nil || maps.Equal(r.Images, images))
}

// kind is what a rollout that begins now is about.
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

// Current is what is being rolled out, or what is applied if nothing is.
func (r Record) Current() Snapshot {
	if r.Unfinished() {
		return r.Intent
	}
	return r.Applied
}

// MarkHealthy returns the record, and the revision for the history, when all that was applied was seen to work.
func (r Record) MarkHealthy(now time.Time) (Record, Revision, error) {
	if r.State != StateApplied {
		return Record{}, Revision{}, ErrState
	}
	r.Settling = false
	return r, r.Revision(OutcomeHealthy, now), nil
}

// MarkApplying returns the record to write before the first object is changed.
func (r Record) MarkApplying() (Record, error) {
	if !r.Unfinished() {
		return Record{}, ErrState
	}
	r.State = StateApplying
	return r, nil
}

// MarkApplied returns the record to write when all objects have been applied, and the revision to append to the
// history. The history is written first: if the operator dies between the two, doing both again changes nothing.
func (r Record) MarkApplied(now time.Time) (Record, Revision, error) {
	if r.State != StateApplying {
		return Record{}, Revision{}, ErrState
	}
	rev := r.Revision(OutcomeApplied, now)
	r.State, r.Applied, r.Intent, r.Base = StateApplied, r.Intent, Snapshot{}, 0
	return r, rev, nil
}

// Revision returns the entry for the history of what is being rolled out, or of what is applied.
func (r Record) Revision(o Outcome, now time.Time) Revision {
	s := r.Current()
	return Revision{
		Number: r.Number, Hash: s.Hash(), Spec: []byte(s.raw), OperatorVersion: r.OperatorVersion,
		Time: now.UTC().Truncate(time.Second), Outcome: o, Forced: r.Forced, Acknowledged: r.Acknowledged, By: r.By, Kind: r.Kind, Images: r.Images,
	}
}

// Baseline returns what a change is checked against, and what is kept in effect when it is refused: what is being
// rolled out once objects of it may be there, and else what is applied. It is nil on a fresh cluster, and until a
// forced change is under way.
func (r Record) Baseline() *operatorv1.NetworkSpec {
	if r.State == StateApplying {
		return r.Intent.Spec()
	}
	return r.Applied.Spec()
}

// BaselineNumber is the number of the revision that Baseline is; 0 if there is none, or another operator wrote it.
func (r Record) BaselineNumber() int {
	if r.State == StateIntent {
		return r.Base
	}
	return r.Number
}
