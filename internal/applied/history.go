package applied

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// HistoryConfigMapName is the name of the ConfigMap of the history. It is not the record's, so that deleting that
// one, which forces a change, does not take the history away.
const HistoryConfigMapName = "applied-history"

// KeyRevisions is the key of the history's ConfigMap: a JSON list of revisions, the oldest first.
const KeyRevisions = "revisions"

// MaxRevisions is how many revisions are kept. maxHistory is how many bytes of JSON: a ConfigMap holds a mebibyte.
const (
	MaxRevisions = 5
	maxHistory   = 900 << 10
)

// Outcome says how a rollout ended.
type Outcome string

// The outcomes of a rollout.
const (
	// OutcomeApplied: all objects were applied.
	OutcomeApplied Outcome = "applied"
	// OutcomeHealthy: all objects were applied, and all that they make was seen to work.
	OutcomeHealthy Outcome = "healthy"
	// OutcomeRolledBack: it hung, and was taken back.
	OutcomeRolledBack Outcome = "rolled-back"
	// OutcomeAbandoned: another specification took its place before all objects were applied.
	OutcomeAbandoned Outcome = "abandoned"
)

// Revision is one network that was rolled out.
type Revision struct {
	// Number counts the revisions of a cluster from 1.
	Number int `json:"number"`
	// Hash is that of the Snapshot.
	Hash string `json:"hash"`
	// Spec is the filled specification, as it was applied.
	Spec json.RawMessage `json:"spec"`
	// OperatorVersion is the version of the operator that applied it.
	OperatorVersion string `json:"operatorVersion"`
	// Time is when it was applied or abandoned, in UTC and whole seconds.
	Time time.Time `json:"time"`
	// Outcome says which of them.
	Outcome Outcome `json:"outcome"`
	// Forced is true if it was not checked against the revision before.
	Forced bool `json:"forced,omitempty"`
	// Acknowledged is the hash with which someone has acknowledged the change from the revision before.
	Acknowledged string `json:"acknowledged,omitempty"`
	// By is the field manager that wrote the specification last, such as kubectl-edit; empty if that is not known.
	By string `json:"by,omitempty"`
	// Kind says what the rollout was about.
	Kind Kind `json:"kind,omitempty"`
	// Images are those that it was rendered with, by the name of the environment variable.
	Images map[string]string `json:"images,omitempty"`
}

// Snapshot returns what was applied.
func (r Revision) Snapshot() (Snapshot, error) {
	s, err := parse(string(r.Spec))
	if err != nil {
		return Snapshot{}, fmt.Errorf("read revision %d: %w", r.Number, err)
	}
	return s, nil
}

// History is the list of the last revisions, the oldest first. Its methods return new lists.
type History []Revision

// DecodeHistory reads the history from the data of its ConfigMap; nil data is an empty one. A history that cannot
// be read is an error, but no reason to stop: nothing is decided by it. A caller that goes on with the empty one
// should take the number of the record into account; see Next.
func DecodeHistory(data map[string]string) (History, error) {
	text, ok := data[KeyRevisions]
	if !ok {
		return nil, nil
	}
	var h History
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return nil, fmt.Errorf("decode ConfigMap %s, key %s: %w", HistoryConfigMapName, KeyRevisions, err)
	}
	return h, nil
}

// Encode returns the data of the history's ConfigMap. The oldest revisions are left out if there is no room for them.
func (h History) Encode() (map[string]string, error) {
	if h == nil {
		h = History{}
	}
	for {
		text, err := json.Marshal(h)
		if err != nil {
			return nil, fmt.Errorf("encode the history: %w", err)
		}
		if len(text) <= maxHistory || len(h) <= 1 {
			return map[string]string{KeyRevisions: string(text)}, nil
		}
		h = h[1:]
	}
}

// Append returns the history with one more revision, and at most MaxRevisions, the last healthy one always among them. A
// revision with the same number as one that is there takes its place: it has got further, or the operator died before
// it could tell that it had written it.
func (h History) Append(r Revision) History {
	out := slices.DeleteFunc(slices.Clone(h), func(old Revision) bool { return old.Number == r.Number })
	out = append(out, r)
	good, ok := out.Healthy(r.Number + 1)
	for len(out) > MaxRevisions {
		oldest := 0
		if ok && out[0].Number == good.Number {
			oldest = 1
		}
		out = slices.Delete(out, oldest, oldest+1)
	}
	return out
}

// UsedUp returns the acknowledgement that was used last; empty if none was. Without a record, that was deleted, it goes
// as far back as the history does.
func (h History) UsedUp(r Record) string {
	if last := cmp.Or(r.Acknowledged, r.UsedUp); last != "" {
		return last
	}
	for _, rev := range slices.Backward(h) {
		if rev.Acknowledged != "" {
			return rev.Acknowledged
		}
	}
	return ""
}

// Healthy returns the last revision before a number that was seen to work.
func (h History) Healthy(before int) (Revision, bool) {
	for _, r := range slices.Backward(h) {
		if r.Number < before && r.Outcome == OutcomeHealthy {
			return r, true
		}
	}
	return Revision{}, false
}

// Applied returns the record of the newest revision that was applied and can be read.
func (h History) Applied() (Record, bool) {
	for _, r := range slices.Backward(h) {
		if r.Outcome != OutcomeApplied && r.Outcome != OutcomeHealthy {
			continue
		}
		spec, err := r.Snapshot()
		if err != nil {
			continue
		}
		return Record{
			State: StateApplied, Applied: spec, Number: r.Number, OperatorVersion: r.OperatorVersion, Images: r.Images,
			Acknowledged: r.Acknowledged, By: r.By, Forced: r.Forced, Kind: r.Kind,
		}, true
	}
	return Record{}, false
}

// Next returns the number for a new revision: one more than all that the history and the record have.
func (h History) Next(r Record) int {
	next := r.Number
	for _, rev := range h {
		next = max(next, rev.Number)
	}
	return next + 1
}
