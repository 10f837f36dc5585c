// Package applied defines the record of the applied network and the one that is being rolled out, from which the operator
// continues after a restart, and the history of revisions.
//
// It is pure: it decodes and encodes the data of ConfigMaps. The caller reads and writes them and supplies the time. No
// content of a ConfigMap makes it panic.
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

// Snapshot is a filled specification in a record, including fields that only a newer operator knows. The zero value is no
// specification. A Snapshot is immutable.
type Snapshot struct {
	raw     string // canonical JSON, or empty
	spec    *operatorv1.NetworkSpec
	unknown []string
}

// NewSnapshot returns the snapshot of a specification. It returns an error for values without JSON encoding, which no API
// server can store.
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

// parse decodes the JSON of a specification. Unknown fields are kept and listed.
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

// canonical returns JSON without spaces and with sorted keys.
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

// Spec returns a copy of the specification without UnknownFields; nil if there is none.
func (s Snapshot) Spec() *operatorv1.NetworkSpec { return s.spec.DeepCopy() }

// UnknownFields returns the paths of the fields that a newer operator wrote and this one does not know. The snapshot keeps
// them; a specification that replaces it does not have them.
func (s Snapshot) UnknownFields() []string { return append([]string(nil), s.unknown...) }

// Hash returns the first 32 hexadecimal digits of the SHA-256 of the canonical JSON; "" if there is no specification.
func (s Snapshot) Hash() string {
	if s.IsZero() {
		return ""
	}
	sum := sha256.Sum256([]byte(s.raw))
	return hex.EncodeToString(sum[:16])
}

// Equal reports whether both have the same canonical JSON.
func (s Snapshot) Equal(other Snapshot) bool { return s.raw == other.raw }

// String returns the canonical JSON.
func (s Snapshot) String() string { return s.raw }
