package ovsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Schema is the schema of a database (RFC 7047, section 3.2).
type Schema struct {
	Name    string                 `json:"name"`
	Version string                 `json:"version"`
	Tables  map[string]TableSchema `json:"tables"`
}

// TableSchema is one table of a schema.
type TableSchema struct {
	Columns map[string]ColumnSchema `json:"columns"`
	MaxRows int                     `json:"maxRows"` // 0: no limit
	IsRoot  bool                    `json:"isRoot"`
	Indexes [][]string              `json:"indexes"`
}

// ColumnSchema is one column of a table.
type ColumnSchema struct {
	Type ColumnType `json:"type"`
}

// Unlimited is the Max of a column without a limit.
const Unlimited = -1

// ColumnType is the type of a column: Min to Max keys, each with a value in maps.
type ColumnType struct {
	Key      BaseType
	Value    *BaseType // nil unless the column is a map
	Min, Max int
}

// BaseType is the type of one key or value: integer, real, boolean, string or uuid.
type BaseType struct {
	Type     string          `json:"type"`
	Enum     json.RawMessage `json:"enum"`
	RefTable string          `json:"refTable"`
	RefType  string          `json:"refType"`
}

// UnmarshalJSON reads the name of a type, or an object.
func (b *BaseType) UnmarshalJSON(data []byte) error {
	type object BaseType
	if json.Unmarshal(data, &b.Type) != nil {
		if err := json.Unmarshal(data, (*object)(b)); err != nil {
			return err
		}
	}
	if !slices.Contains([]string{"integer", "real", "boolean", "string", "uuid"}, b.Type) {
		return fmt.Errorf("%q is not a type of OVSDB", b.Type)
	}
	return nil
}

// UnmarshalJSON reads the name of a type, or an object.
func (t *ColumnType) UnmarshalJSON(data []byte) error {
	*t = ColumnType{Min: 1, Max: 1}
	var name string
	if json.Unmarshal(data, &name) == nil {
		return json.Unmarshal(data, &t.Key)
	}
	var object struct {
		Key   *BaseType       `json:"key"`
		Value *BaseType       `json:"value"`
		Min   *int            `json:"min"`
		Max   json.RawMessage `json:"max"`
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	if object.Key == nil {
		return errors.New("the type of a column has no key")
	}
	t.Key, t.Value = *object.Key, object.Value
	if object.Min != nil {
		t.Min = *object.Min
	}
	switch {
	case string(object.Max) == `"unlimited"`:
		t.Max = Unlimited
	case len(object.Max) > 0:
		return json.Unmarshal(object.Max, &t.Max)
	}
	return nil
}

// String describes a type: "string", "optional integer", "set of uuid", "map of string to string".
func (t ColumnType) String() string {
	switch {
	case t.Value != nil:
		return "map of " + t.Key.Type + " to " + t.Value.Type
	case t.Min == 1 && t.Max == 1:
		return t.Key.Type
	case t.Max == 1:
		return "optional " + t.Key.Type
	}
	return "set of " + t.Key.Type
}

// composite reports whether a difference of the column consists of added and removed members, and not of the new value.
func (t ColumnType) composite() bool { return t.Max != 1 }

// column returns the type of a column of a table; every table has the columns _uuid and _version.
func (t TableSchema) column(name string) (ColumnType, bool) {
	if name == "_uuid" || name == "_version" {
		return ColumnType{Key: BaseType{Type: "uuid"}, Min: 1, Max: 1}, true
	}
	c, ok := t.Columns[name]
	return c.Type, ok
}

// shape has the types of the monitored columns, by table.
type shape map[string]map[string]ColumnType

// shape returns the types of columns by table; a table without columns means all its columns. The error names all tables and columns that the schema
// lacks.
func (s Schema) shape(columns map[string][]string) (shape, error) {
	out, missing := shape{}, []error(nil)
	for _, table := range slices.Sorted(maps.Keys(columns)) {
		schema, ok := s.Tables[table]
		if !ok {
			missing = append(missing, fmt.Errorf("table %s is missing", table))
			continue
		}
		names := columns[table]
		if len(names) == 0 {
			names = slices.Sorted(maps.Keys(schema.Columns))
		}
		out[table] = map[string]ColumnType{}
		for _, name := range names {
			t, ok := schema.column(name)
			if !ok {
				missing = append(missing, fmt.Errorf("table %s: column %s is missing", table, name))
			}
			out[table][name] = t
		}
	}
	if len(missing) > 0 {
		return nil, s.unfit(missing)
	}
	return out, nil
}

// unfit returns the error of a schema with problems.
func (s Schema) unfit(problems []error) error {
	return fmt.Errorf("the server's schema %s %s does not fit: %w; use a server of a version that this client supports",
		s.Name, s.Version, errors.Join(problems...))
}
