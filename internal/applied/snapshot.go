// Package applied holds the record of which network is applied, and of which is being rolled out: what the
// operator knows of its own doings after a crash.
//
// It is pure: it turns the data of ConfigMaps into values and back. Reading and writing them, and the clock, are
// the caller's. No text in a ConfigMap makes it panic.
package applied

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Snapshot is a filled specification as it is kept in a record: exactly what was written, also the fields that
// only a newer operator knows. The zero value is no specification. A Snapshot does not change.
type Snapshot struct {
	raw     string // canonical JSON, or empty
	spec    *operatorv1.NetworkSpec
	unknown []string
}

// NewSnapshot keeps a specification. The error is for values that have no JSON, which no API server can hold.
func NewSnapshot(spec *operatorv1.NetworkSpec) (Snapshot, error) {
	if spec == nil {
		return Snapshot{}, errors.New("there is no specification to keep")
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return Snapshot{}, fmt.Errorf("encode the specification: %w", err)
	}
	return parse(string(raw))
}

// parse reads the JSON of a specification. Fields that this operator does not know are kept, and listed.
func parse(text string) (Snapshot, error) {
	if !bytes.HasPrefix(bytes.TrimSpace([]byte(text)), []byte("{")) {
		return Snapshot{}, errors.New("not a JSON object")
	}
	raw, err := canonical(text)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{raw: raw, spec: &operatorv1.NetworkSpec{}}
	strict, err := kjson.UnmarshalStrict([]byte(raw), s.spec)
	if err != nil {
		return Snapshot{}, err
	}
	for _, e := range strict {
		if f, ok := errors.AsType[kjson.FieldError](e); ok {
			s.unknown = append(s.unknown, f.FieldPath())
		} else {
			s.unknown = append(s.unknown, e.Error())
		}
	}
	return s, nil
}

// canonical writes JSON without spaces and with sorted keys.
func canonical(text string) (string, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return "", err
	}
	if d.More() {
		return "", errors.New("there is something after the JSON object")
	}
	raw, err := json.Marshal(tree)
	return string(raw), err
}

// IsZero reports whether there is no specification.
func (s Snapshot) IsZero() bool { return s.raw == "" }

// Spec returns a copy of the specification, and nil if there is none. Fields in UnknownFields are not in it.
func (s Snapshot) Spec() *operatorv1.NetworkSpec { return s.spec.DeepCopy() }

// UnknownFields lists the paths of the fields that a newer operator wrote and this one does not know. They are
// kept as long as the snapshot is; a specification that is applied in its stead does not have them.
func (s Snapshot) UnknownFields() []string { return append([]string(nil), s.unknown...) }

// Hash names the content: the first 32 hexadecimal digits of the SHA-256 of its canonical JSON. It is the same in
// every process and however the JSON was written. It is empty if there is no specification.
func (s Snapshot) Hash() string {
	if s.IsZero() {
		return ""
	}
	sum := sha256.Sum256([]byte(s.raw))
	return hex.EncodeToString(sum[:16])
}

// Equal reports whether both say the same.
func (s Snapshot) Equal(other Snapshot) bool { return s.raw == other.raw }

// String is the canonical JSON.
func (s Snapshot) String() string { return s.raw }
