package ovsdb

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// datum is the value of a column: its members, ordered by key. Keys and values are int64, float64, bool, string or UUID.
type datum []member

type member struct{ key, value any } // value is nil unless the column is a map

const zeroUUID = UUID("00000000-0000-0000-0000-000000000000")

// atom reads one key or value.
func (b BaseType) atom(raw json.RawMessage) (any, error) {
	switch b.Type {
	case "integer":
		return decodeAtom[int64](b, raw)
	case "real":
		return decodeAtom[float64](b, raw)
	case "boolean":
		return decodeAtom[bool](b, raw)
	case "string":
		return decodeAtom[string](b, raw)
	}
	id, err := decodeAtom[UUID](b, raw)
	if err == nil && !id.(UUID).valid() {
		err = fmt.Errorf("%.100s is not a UUID", raw)
	}
	return id, err
}

func decodeAtom[T any](b BaseType, raw json.RawMessage) (any, error) {
	var v *T // null is no value
	if err := json.Unmarshal(raw, &v); err != nil || v == nil {
		return nil, fmt.Errorf("%.100s is not of type %s", raw, b.Type)
	}
	return *v, nil
}

// zero returns the default of a required value.
func (b BaseType) zero() any {
	return map[string]any{"integer": int64(0), "real": 0.0, "boolean": false, "string": "", "uuid": zeroUUID}[b.Type]
}

func (t ColumnType) zero() datum {
	if t.Min == 0 {
		return nil
	}
	m := member{key: t.Key.zero()}
	if t.Value != nil {
		m.value = t.Value.zero()
	}
	return datum{m}
}

// decode reads the value of a column, strictly.
func (t ColumnType) decode(raw json.RawMessage) (datum, error) {
	d, err := t.members(raw)
	if err != nil {
		return nil, err
	}
	if len(d) < t.Min || t.Max != Unlimited && len(d) > t.Max {
		return nil, fmt.Errorf("%d values in a column of type %s", len(d), t)
	}
	return d, nil
}

// members reads the members of a value or of a difference, which may have any number of them.
func (t ColumnType) members(raw json.RawMessage) (datum, error) {
	items, kind := notation(raw)
	if kind == "" {
		items = []json.RawMessage{raw}
	}
	if (kind == "map") != (t.Value != nil) {
		return nil, fmt.Errorf("%.100s is not of type %s", raw, t)
	}
	d := make(datum, 0, len(items))
	for _, item := range items {
		m, err := t.member(item)
		if err != nil {
			return nil, err
		}
		d = append(d, m)
	}
	slices.SortFunc(d, func(a, b member) int { return compareAtoms(a.key, b.key) })
	for i := 1; i < len(d); i++ {
		if d[i-1].key == d[i].key {
			return nil, fmt.Errorf("%v occurs twice in a column of type %s", d[i].key, t)
		}
	}
	return d, nil
}

func (t ColumnType) member(raw json.RawMessage) (m member, err error) {
	if t.Value == nil {
		m.key, err = t.Key.atom(raw)
		return m, err
	}
	var pair []json.RawMessage
	if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 {
		return m, fmt.Errorf("%.100s is not a pair of a key and a value", raw)
	}
	if m.key, err = t.Key.atom(pair[0]); err != nil {
		return m, err
	}
	m.value, err = t.Value.atom(pair[1])
	return m, err
}

// compareAtoms orders atoms of one type.
func compareAtoms(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return cmp.Compare(a, b.(string))
	case UUID:
		return cmp.Compare(a, b.(UUID))
	case bool:
		switch {
		case a == b.(bool):
			return 0
		case a:
			return 1
		}
	}
	return -1
}

// encode writes a value so that equal values are equal text.
func (t ColumnType) encode(d datum) json.RawMessage {
	var out bytes.Buffer
	if t.Value == nil && len(d) == 1 {
		writeAtom(&out, d[0].key)
		return out.Bytes()
	}
	if t.Value == nil {
		out.WriteString(`["set",[`)
	} else {
		out.WriteString(`["map",[`)
	}
	for i, m := range d {
		if i > 0 {
			out.WriteByte(',')
		}
		if t.Value == nil {
			writeAtom(&out, m.key)
			continue
		}
		out.WriteByte('[')
		writeAtom(&out, m.key)
		out.WriteByte(',')
		writeAtom(&out, m.value)
		out.WriteByte(']')
	}
	out.WriteString("]]")
	return out.Bytes()
}

func writeAtom(out *bytes.Buffer, atom any) {
	if f, ok := atom.(float64); ok && f == 0 && math.Signbit(f) {
		atom = 0.0 // -0 equals 0
	}
	data, err := json.Marshal(atom)
	if err != nil { // decoded atoms have no value that JSON lacks
		panic(err)
	}
	out.Write(data)
}

// apply applies a difference of a monitor to a value. The difference is the new value of a column with at most one member; otherwise it has the members
// that were added or removed, and the pairs of a map whose value changed.
func (t ColumnType) apply(old, difference datum) datum {
	if !t.composite() {
		return difference
	}
	var out datum
	for len(old) > 0 && len(difference) > 0 {
		switch order := compareAtoms(old[0].key, difference[0].key); {
		case order < 0:
			out, old = append(out, old[0]), old[1:]
		case order > 0:
			out, difference = append(out, difference[0]), difference[1:]
		default:
			if old[0].value != difference[0].value {
				out = append(out, difference[0])
			}
			old, difference = old[1:], difference[1:]
		}
	}
	return append(append(out, old...), difference...)
}
