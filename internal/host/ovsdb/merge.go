package ovsdb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// contents are the rows of tables. Rows are never modified.
type contents map[string]map[UUID]Row

func (c contents) row(table string, id UUID) Row { return c[table][id] }

// Change is a row that was added, removed or changed.
type Change struct {
	Table string
	UUID  UUID
	// Old is nil for an added row, New for a removed one. Both have all monitored columns, and _uuid.
	Old, New Row
}

// changes collects changes in a deterministic order.
type changes []Change

func (c *changes) add(table string, id UUID, old, desired Row) {
	if maps.EqualFunc(old, desired, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return
	}
	*c = append(*c, Change{Table: table, UUID: id, Old: old, New: desired})
}

func (c changes) sorted() []Change {
	slices.SortFunc(c, func(a, b Change) int {
		if order := strings.Compare(a.Table, b.Table); order != 0 {
			return order
		}
		return strings.Compare(string(a.UUID), string(b.UUID))
	})
	return c
}

// compare returns the changes that lead from one state to another.
func compare(before, after contents) []Change {
	var out changes
	for table, rows := range after {
		for id, row := range rows {
			out.add(table, id, before.row(table, id), row)
		}
	}
	for table, rows := range before {
		for id, row := range rows {
			if after.row(table, id) == nil {
				out.add(table, id, row, nil)
			}
		}
	}
	return out.sorted()
}

// full returns a row with all monitored columns in canonical form; servers omit columns with default values.
func (s shape) full(table string, id UUID, sent Row) (Row, error) {
	row := Row{}
	for name, t := range s[table] {
		d := t.zero()
		if raw, ok := sent[name]; ok {
			var err error
			if d, err = t.decode(raw); err != nil {
				return nil, fmt.Errorf("table %s, row %s, column %s: %w", table, id, name, err)
			}
		}
		row[name] = t.encode(d)
	}
	row["_uuid"] = encodeUUID(id)
	return row, nil
}

func encodeUUID(id UUID) json.RawMessage {
	return ColumnType{Key: BaseType{Type: "uuid"}, Min: 1, Max: 1}.encode(datum{{key: id}})
}

// modified returns a row after differences of some of its columns.
func (s shape) modified(table string, id UUID, old, differences Row) (Row, error) {
	row := maps.Clone(old)
	for name, raw := range differences {
		t, ok := s[table][name]
		if !ok {
			continue // not monitored
		}
		before, err := t.decode(old[name])
		if err != nil {
			return nil, fmt.Errorf("table %s, row %s, column %s: %w", table, id, name, err)
		}
		difference, err := t.members(raw)
		if err != nil {
			return nil, fmt.Errorf("table %s, row %s, column %s: %w", table, id, name, err)
		}
		encoded := t.encode(t.apply(before, difference))
		if _, err := t.decode(encoded); err != nil {
			return nil, fmt.Errorf("table %s, row %s, column %s: %w", table, id, name, err)
		}
		row[name] = encoded
	}
	return row, nil
}

// plain reads the updates of monitor: new rows have all columns.
func (s shape) plain(raw json.RawMessage, present contents) ([]Change, error) {
	var updates map[string]map[string]RowUpdate
	if err := json.Unmarshal(raw, &updates); err != nil {
		return nil, fmt.Errorf("read updates: %w", err)
	}
	var out changes
	for table, rows := range updates {
		for key, u := range rows {
			id, desired := UUID(key), Row(nil)
			if u.New != nil {
				var err error
				if desired, err = s.full(table, id, u.New); err != nil {
					return nil, err
				}
			}
			out.add(table, id, present.row(table, id), desired)
		}
	}
	return out.sorted(), nil
}

// conditional reads the updates of monitor_cond and monitor_cond_since: modified rows have differences.
func (s shape) conditional(raw json.RawMessage, present contents) ([]Change, error) {
	var updates map[string]map[string]map[string]Row
	if err := json.Unmarshal(raw, &updates); err != nil {
		return nil, fmt.Errorf("read updates: %w", err)
	}
	var out changes
	for table, rows := range updates {
		for key, u := range rows {
			id := UUID(key)
			old := present.row(table, id)
			desired, err := s.after(table, id, old, u)
			if err != nil {
				return nil, err
			}
			out.add(table, id, old, desired)
		}
	}
	return out.sorted(), nil
}

// after returns a row after an update; nil for a deleted row.
func (s shape) after(table string, id UUID, old Row, update map[string]Row) (Row, error) {
	for kind, row := range update {
		switch kind {
		case "initial", "insert":
			return s.full(table, id, row)
		case "delete":
			return nil, nil
		case "modify":
			if old == nil {
				return nil, fmt.Errorf("table %s: the unknown row %s was modified", table, id)
			}
			return s.modified(table, id, old, row)
		}
	}
	return nil, fmt.Errorf("table %s, row %s: an update without initial, insert, modify or delete", table, id)
}
