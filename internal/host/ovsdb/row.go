package ovsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Decode reads a row. The error names all columns that are missing or have a value of another type.
func (m Model[T]) Decode(row Row) (T, error) {
	var out T
	var problems []error
	into := reflect.ValueOf(&out).Elem()
	for _, f := range m.fields {
		raw, ok := row[f.column]
		if !ok {
			problems = append(problems, fmt.Errorf("column %s is missing", f.column))
			continue
		}
		d, err := f.t.decode(raw)
		if err != nil {
			problems = append(problems, fmt.Errorf("column %s: %w", f.column, err))
			continue
		}
		set(into.Field(f.index), d)
	}
	if len(problems) > 0 {
		return *new(T), fmt.Errorf("row %s of table %s: %w", row.UUID("_uuid"), m.table, errors.Join(problems...))
	}
	return out, nil
}

// Rows reads all rows of the model's table.
func (m Model[T]) Rows(s Snapshot) (map[UUID]T, error) {
	out, problems := make(map[UUID]T, s.Len(m.table)), []error(nil)
	for id, row := range s.Rows(m.table) {
		value, err := m.Decode(row)
		if err != nil {
			problems = append(problems, err)
		}
		out[id] = value
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return out, nil
}

// set writes a value to a field; empty sets and maps are nil.
func set(field reflect.Value, d datum) {
	t := field.Type()
	if len(d) == 0 {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(t.Elem()))
		field.Elem().Set(reflect.ValueOf(d[0].key).Convert(t.Elem()))
	case reflect.Slice:
		all := reflect.MakeSlice(t, 0, len(d))
		for _, m := range d {
			all = reflect.Append(all, reflect.ValueOf(m.key).Convert(t.Elem()))
		}
		field.Set(all)
	case reflect.Map:
		all := reflect.MakeMapWithSize(t, len(d))
		for _, m := range d {
			all.SetMapIndex(reflect.ValueOf(m.key).Convert(t.Key()), reflect.ValueOf(m.value).Convert(t.Elem()))
		}
		field.Set(all)
	default:
		field.Set(reflect.ValueOf(d[0].key).Convert(t))
	}
}

// Row returns the given columns of a value for Insert and Update; all if none is given. It omits _uuid and _version, which the server sets. A UUID that is
// not in the form of one is the name of a row that an Insert of the same transaction creates.
func (m Model[T]) Row(value T, columns ...string) (map[string]any, error) {
	out, problems := map[string]any{}, []error(nil)
	for _, name := range columns {
		if !slices.Contains(m.Columns(), name) {
			problems = append(problems, fmt.Errorf("column %s is not one of the model", name))
		}
	}
	from := reflect.ValueOf(value)
	for _, f := range m.fields {
		if f.column == "_uuid" || f.column == "_version" || len(columns) > 0 && !slices.Contains(columns, f.column) {
			continue
		}
		raw, err := f.encode(from.Field(f.index))
		if err != nil {
			problems = append(problems, fmt.Errorf("column %s: %w", f.column, err))
		}
		out[f.column] = raw
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("a row of table %s: %w", m.table, errors.Join(problems...))
	}
	return out, nil
}

func (f field) encode(v reflect.Value) (json.RawMessage, error) {
	var d datum
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d = datum{{key: atomOf(v.Elem())}}
		}
	case reflect.Slice:
		for i := range v.Len() {
			d = append(d, member{key: atomOf(v.Index(i))})
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			d = append(d, member{key: atomOf(k), value: atomOf(v.MapIndex(k))})
		}
	default:
		d = datum{{key: atomOf(v)}}
	}
	for _, m := range d {
		for _, atom := range []any{m.key, m.value} {
			if n, ok := atom.(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
				return nil, fmt.Errorf("%v is not a number that OVSDB has", n)
			}
		}
	}
	slices.SortFunc(d, func(a, b member) int { return compareAtoms(a.key, b.key) })
	return f.t.encode(slices.CompactFunc(d, func(a, b member) bool { return a.key == b.key })), nil
}

func atomOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Int:
		return v.Int()
	case reflect.Float64:
		return v.Float()
	case reflect.Bool:
		return v.Bool()
	}
	if v.Type() == reflect.TypeFor[UUID]() {
		return UUID(v.String())
	}
	return v.String()
}
