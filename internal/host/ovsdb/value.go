package ovsdb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// UUID identifies a row. On the wire it is ["uuid", "..."]. A value that is not in the form of a UUID refers to the row of an Insert of the same
// transaction, like Named.
type UUID string

// Named is the name of a row that an Insert of the same transaction creates.
type Named string

// Set is a set of values of one column. On the wire it is ["set", [...]].
type Set []any

// Map is a map of strings of one column. On the wire it is ["map", [[key, value], ...]].
type Map map[string]string

// MarshalJSON writes the notation of the wire.
func (u UUID) MarshalJSON() ([]byte, error) {
	if !u.valid() {
		return Named(u).MarshalJSON()
	}
	return json.Marshal([]string{"uuid", string(u)})
}

// valid reports whether u is in the form of a UUID: 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12.
func (u UUID) valid() bool {
	if len(u) != 36 {
		return false
	}
	for i, c := range []byte(u) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}

// UnmarshalJSON reads the notation of the wire.
func (u *UUID) UnmarshalJSON(data []byte) error {
	var pair []string
	if err := json.Unmarshal(data, &pair); err != nil || len(pair) != 2 || pair[0] != "uuid" {
		return fmt.Errorf("%s is no uuid", data)
	}
	*u = UUID(pair[1])
	return nil
}

// MarshalJSON writes the notation of the wire.
func (n Named) MarshalJSON() ([]byte, error) { return json.Marshal([]string{"named-uuid", string(n)}) }

// MarshalJSON writes the notation of the wire.
func (s Set) MarshalJSON() ([]byte, error) {
	if s == nil {
		s = Set{}
	}
	return json.Marshal([]any{"set", []any(s)})
}

// MarshalJSON writes the notation of the wire, keys in order.
func (m Map) MarshalJSON() ([]byte, error) {
	pairs := make([][]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, []string{k, m[k]})
	}
	return json.Marshal([]any{"map", pairs})
}

// IntMap is a map of strings to integers of one column, on the wire like Map.
type IntMap map[string]int

// MarshalJSON writes the notation of the wire, keys in order.
func (m IntMap) MarshalJSON() ([]byte, error) {
	pairs := make([][]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, []any{k, m[k]})
	}
	return json.Marshal([]any{"map", pairs})
}

// Row is one row as the server sends it, by column. Its methods return the zero value for a column that is missing, empty, or of
// another type.
type Row map[string]json.RawMessage

// Text returns a string column.
func (r Row) Text(column string) string {
	s, _ := first[string](r, column)
	return s
}

// Int returns an integer column.
func (r Row) Int(column string) int {
	n, _ := first[int](r, column)
	return n
}

// Bool returns a boolean column.
func (r Row) Bool(column string) bool {
	b, _ := first[bool](r, column)
	return b
}

// UUID returns a column that refers to one row, such as _uuid.
func (r Row) UUID(column string) UUID {
	u, _ := first[UUID](r, column)
	return u
}

// UUIDs returns a column that refers to rows.
func (r Row) UUIDs(column string) []UUID { return elements[UUID](r, column) }

// Ints returns a column of integers.
func (r Row) Ints(column string) []int { return elements[int](r, column) }

// Strings returns a column of strings.
func (r Row) Strings(column string) []string { return elements[string](r, column) }

// Map returns a column that is a map of strings. It is nil if empty.
func (r Row) Map(column string) map[string]string {
	pairs, kind := notation(r[column])
	if kind != "map" || len(pairs) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, raw := range pairs {
		var pair [2]string
		if json.Unmarshal(raw, &pair) == nil {
			out[pair[0]] = pair[1]
		}
	}
	return out
}

// notation parses ["set", [...]] and ["map", [...]]; kind is empty for a plain value.
func notation(raw json.RawMessage) (items []json.RawMessage, kind string) {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[0], &kind) != nil {
		return nil, ""
	}
	if kind != "set" && kind != "map" || json.Unmarshal(parts[1], &items) != nil {
		return nil, ""
	}
	return items, kind
}

// elements returns the members of a column; a set with exactly one member is sent as the plain member.
func elements[T any](r Row, column string) []T {
	raw, ok := r[column]
	if !ok {
		return nil
	}
	items, kind := notation(raw)
	if kind == "" {
		items = []json.RawMessage{raw}
	}
	var out []T
	for _, item := range items {
		var v T
		if json.Unmarshal(item, &v) == nil {
			out = append(out, v)
		}
	}
	return out
}

func first[T any](r Row, column string) (v T, ok bool) {
	if all := elements[T](r, column); len(all) > 0 {
		return all[0], true
	}
	return v, false
}
