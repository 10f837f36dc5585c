package applied

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// HistoryConfigMapName is the name of the ConfigMap of the history. It is separate from that of the record, so that deleting
// the record, which forces a change, keeps the history.
const HistoryConfigMapName = "applied-history"

// KeyRevisions is the key of the history's ConfigMap: a JSON list of revisions, the oldest first.
const KeyRevisions = "revisions"

// MaxRevisions is the maximum number of revisions. maxHistory is the maximum size of their JSON in bytes: a ConfigMap holds a mebibyte.
const (
	MaxRevisions = 5
	maxHistory   = 900 << 10
)

// Outcome is the outcome of a rollout.
type Outcome string

// The outcomes of a rollout.
const (
	// OutcomeApplied means that all objects were applied.
	OutcomeApplied Outcome = "applied"
	// OutcomeHealthy means that all objects were applied and the network was healthy afterwards.
	OutcomeHealthy Outcome = "healthy"
	// OutcomeRolledBack means that the rollout stalled and was rolled back.
	OutcomeRolledBack Outcome = "rolled-back"
	// OutcomeAbandoned means that another specification replaced it before all objects were applied.
	OutcomeAbandoned Outcome = "abandoned"
)

// Revision is one rollout of a network.
type Revision struct {
	// Number counts the revisions of a cluster from 1.
	Number int `json:"number"`
	// Hash is the hash of the Snapshot.
	Hash string `json:"hash"`
	// Spec is the filled specification, as it was applied.
	Spec json.RawMessage `json:"spec"`
	// OperatorVersion is the version of the operator that applied it.
	OperatorVersion string `json:"operatorVersion"`
	// Time is the time at which it was applied or abandoned, in UTC and whole seconds.
	Time time.Time `json:"time"`
	// Outcome is the outcome of the rollout.
	Outcome Outcome `json:"outcome"`
	// Forced is true if it was not checked against the previous revision.
	Forced bool `json:"forced,omitempty"`
	// Acknowledged is the hash with which a user has acknowledged the change from the previous revision.
	Acknowledged string `json:"acknowledged,omitempty"`
	// By is the field manager that wrote the specification last, such as kubectl-edit; empty if unknown.
	By string `json:"by,omitempty"`
	// Kind is the kind of the rollout.
	Kind Kind `json:"kind,omitempty"`
	// Images are those with which it was rendered, by environment variable.
	Images map[string]string `json:"images,omitempty"`
}

// Snapshot returns the applied specification.
func (r Revision) Snapshot() (Snapshot, error) {
	s, err := parse(string(r.Spec))
	if err != nil {
		return Snapshot{}, fmt.Errorf("read revision %d: %w", r.Number, err)
	}
	return s, nil
}

// History is the list of the last revisions, the oldest first. Its methods return new lists.
type History []Revision

// DecodeHistory decodes the history from the data of its ConfigMap; nil data is an empty one. A caller may ignore an error
// and continue with an empty history, since no decision depends on it, but should take the number of the record into
// account; see Next.
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

// Encode returns the data of the history's ConfigMap. It drops the oldest revisions if they do not fit.
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

// Append returns the history with one more revision, but at most MaxRevisions, always including the last healthy one. The
// revision replaces an existing one with the same number, which is an earlier state of it, or the same one if the operator
// stopped after the write.
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

// UsedUp returns the last acknowledgement that was used; "" if there is none. If the record was deleted, only the history
// is used.
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

// Healthy returns the last healthy revision before a number.
func (h History) Healthy(before int) (Revision, bool) {
	for _, r := range slices.Backward(h) {
		if r.Number < before && r.Outcome == OutcomeHealthy {
			return r, true
		}
	}
	return Revision{}, false
}

// Applied returns the record of the newest revision that was applied and can be decoded.
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

// Next returns the number for a new revision: one more than the highest of the history and the record.
func (h History) Next(r Record) int {
	next := r.Number
	for _, rev := range h {
		next = max(next, rev.Number)
	}
	return next + 1
}
