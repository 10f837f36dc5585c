package applied

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// The keys of the ConfigMap of the record. Other tools read the first; older operators wrote only that.
const (
	KeyApplied = "applied"
	KeyState   = "state"
	KeyIntent  = "intent"

	keyRevision = "revision"
	keyVersion  = "operatorVersion"
	keyForced   = "forced"
	keyBase     = "baseRevision"
	keyAcked    = "acknowledged"
	keyUsedUp   = "usedUp"
	keyBy       = "by"
	keyKind     = "kind"
	keySettling = "settling"
	keyImages   = "images"
	keyRejected = "rejected"
)

// CorruptError is the error for a record that cannot be decoded. Nothing may be applied then: whether a change is safe is
// unknown, and a network in use must not be treated as a new one.
type CorruptError struct {
	// Key is the invalid key of the ConfigMap; empty if a key is missing.
	Key string
	Err error
}

// Error describes the error and both ways out.
func (e *CorruptError) Error() string {
	where := "ConfigMap " + ConfigMapName
	if e.Key != "" {
		where += ", key " + e.Key
	}
	return fmt.Sprintf("%s: the record of the applied network is corrupt: %v; restore it (%s has copies), or delete it to apply the specification without checking that the change is safe",
		where, e.Err, HistoryConfigMapName)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// keys are all keys that this operator writes.
var keys = [...]string{
	KeyApplied, KeyState, KeyIntent, keyRevision, keyVersion, keyForced, keyBase, keyAcked, keyUsedUp, keyBy, keyKind, keySettling, keyImages, keyRejected,
}

// SpecOf returns the current specification from the data of a record's ConfigMap; nil if there is none, or it cannot be read.
func SpecOf(data map[string]string) *operatorv1.NetworkSpec {
	r, err := Decode(data)
	if err != nil || r.Current().IsZero() {
		return nil
	}
	return r.Current().Spec()
}

// Decode decodes a record from the data of its ConfigMap. The error is a *CorruptError.
func Decode(data map[string]string) (Record, error) {
	r := Record{State: State(data[KeyState]), OperatorVersion: data[keyVersion], Acknowledged: data[keyAcked], UsedUp: data[keyUsedUp], By: data[keyBy], Kind: Kind(data[keyKind]), other: maps.Clone(data)}
	for _, f := range []struct {
		key  string
		read func(string) error
	}{
		{KeyApplied, func(v string) (err error) { r.Applied, err = parse(v); return err }},
		{KeyIntent, func(v string) (err error) { r.Intent, err = parse(v); return err }},
		{keyRevision, func(v string) (err error) { r.Number, err = readNumber(v); return err }},
		{keyBase, func(v string) (err error) { r.Base, err = readNumber(v); return err }},
		{keySettling, func(v string) (err error) { r.Settling, err = strconv.ParseBool(v); return err }},
		{keyImages, func(v string) error { return json.Unmarshal([]byte(v), &r.Images) }},
		{keyRejected, func(v string) error { return json.Unmarshal([]byte(v), &r.Rejected) }},
		{keyForced, func(v string) (err error) { r.Forced, err = strconv.ParseBool(v); return err }},
	} {
		if v, ok := data[f.key]; ok {
			if err := f.read(v); err != nil {
				return Record{}, &CorruptError{Key: f.key, Err: err}
			}
		}
	}
	for _, key := range keys {
		delete(r.other, key)
	}
	return r.validated()
}

// readNumber parses the number of a revision.
func readNumber(v string) (int, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	return int(n), err
}

// validated checks that a decoded record has the values that its state requires. A record of another operator has no
// state and counts as applied.
func (r Record) validated() (Record, error) {
	switch r.State {
	case "":
		if r.Applied.IsZero() {
			return Record{}, &CorruptError{Err: errors.New("it names no network")}
		}
		r.State = StateApplied
	case StateApplied, StateIntent, StateApplying:
	default:
		return Record{}, &CorruptError{Key: KeyState, Err: fmt.Errorf("%q is not a state", r.State)}
	}
	if r.State == StateApplied {
		r.Intent = Snapshot{}
		if r.Applied.IsZero() {
			return Record{}, &CorruptError{Err: fmt.Errorf("state %s without the key %s", r.State, KeyApplied)}
		}
		return r, nil
	}
	if r.Intent.IsZero() {
		return Record{}, &CorruptError{Err: fmt.Errorf("state %s without the key %s", r.State, KeyIntent)}
	}
	return r, nil
}

// Encode returns the complete data of the record's ConfigMap, including keys of a newer operator. The caller must remove
// all other keys.
func (r Record) Encode() map[string]string {
	data := maps.Clone(r.other)
	if data == nil {
		data = map[string]string{}
	}
	data[KeyState] = string(r.State)
	data[keyRevision] = strconv.Itoa(r.Number)
	if r.OperatorVersion != "" {
		data[keyVersion] = r.OperatorVersion
	}
	if r.Base != 0 {
		data[keyBase] = strconv.Itoa(r.Base)
	}
	if r.Acknowledged != "" {
		data[keyAcked] = r.Acknowledged
	}
	r.encodeMetadata(data)
	if !r.Applied.IsZero() {
		data[KeyApplied] = r.Applied.raw
	}
	if !r.Intent.IsZero() {
		data[KeyIntent] = r.Intent.raw
	}
	return data
}

// encodeMetadata adds the metadata of the revision.
func (r Record) encodeMetadata(data map[string]string) {
	for key, value := range map[string]string{keyUsedUp: r.UsedUp, keyBy: r.By, keyKind: string(r.Kind)} {
		if value != "" {
			data[key] = value
		}
	}
	for key, set := range map[string]bool{keyForced: r.Forced, keySettling: r.Settling} {
		if set {
			data[key] = "true"
		}
	}
	if len(r.Images) > 0 {
		data[keyImages] = mustEncode(r.Images)
	}
	if r.Rejected != (Rejected{}) {
		data[keyRejected] = mustEncode(r.Rejected)
	}
}

// mustEncode encodes values that always have a JSON encoding.
func mustEncode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(raw)
}
