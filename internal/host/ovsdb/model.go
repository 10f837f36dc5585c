package ovsdb

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Table is the interface of a Model without the type of its rows.
type Table interface {
	// Name is the table's name, Columns the names of its columns.
	Name() string
	Columns() []string
	unfit(Schema) []error
}

// Model reads and writes the rows of a table as values of a struct T. Its fields have tags with the names of their columns, as
// `ovsdb:"external_ids"`, or "-" for no column. The types of fields are string, int, float64, bool and UUID, or types of these kinds, for
// columns with exactly one value; pointers to them for optional values, slices for sets and maps for maps.
type Model[T any] struct {
	table  string
	fields []field
}

type field struct {
	index  int
	column string
	t      ColumnType
}

// NewModel returns the model of a table. The error names all invalid fields.
func NewModel[T any](table string) (Model[T], error) {
	kind := reflect.TypeFor[T]()
	if kind.Kind() != reflect.Struct {
		return Model[T]{}, fmt.Errorf("rows of table %s: %s is not a struct", table, kind)
	}
	m, problems, seen := Model[T]{table: table}, []error(nil), map[string]bool{}
	for i := range kind.NumField() {
		f := kind.Field(i)
		column := f.Tag.Get("ovsdb")
		if column == "-" {
			continue
		}
		t, ok := columnType(f.Type)
		switch {
		case !f.IsExported():
			problems = append(problems, fmt.Errorf("field %s is not exported; export it, or set the tag `ovsdb:\"-\"`", f.Name))
		case column == "":
			problems = append(problems, fmt.Errorf("field %s has no tag; set `ovsdb:\"COLUMN\"`, or `ovsdb:\"-\"`", f.Name))
		case seen[column]:
			problems = append(problems, fmt.Errorf("field %s: another field has the column %s, too", f.Name, column))
		case !ok:
			problems = append(problems, fmt.Errorf("field %s: columns cannot have the type %s", f.Name, f.Type))
		}
		seen[column] = true
		m.fields = append(m.fields, field{index: i, column: column, t: t})
	}
	if len(problems) > 0 {
		return Model[T]{}, fmt.Errorf("rows of table %s: %s: %w", table, kind, errors.Join(problems...))
	}
	return m, nil
}

// MustModel is NewModel for variables of packages; it panics on an error.
func MustModel[T any](table string) Model[T] {
	m, err := NewModel[T](table)
	if err != nil {
		panic(err)
	}
	return m
}

// columnType returns the column type of a Go type.
func columnType(t reflect.Type) (c ColumnType, ok bool) {
	switch t.Kind() {
	case reflect.Pointer:
		c.Max = 1
	case reflect.Slice:
		c.Max = Unlimited
	case reflect.Map:
		value, ok := baseType(t.Elem())
		if !ok {
			return c, false
		}
		c.Max, c.Value = Unlimited, &value
		c.Key, ok = baseType(t.Key())
		return c, ok
	default:
		c.Key, ok = baseType(t)
		c.Min, c.Max = 1, 1
		return c, ok
	}
	c.Key, ok = baseType(t.Elem())
	return c, ok
}

func baseType(t reflect.Type) (BaseType, bool) {
	if t == reflect.TypeFor[UUID]() {
		return BaseType{Type: "uuid"}, true
	}
	name := map[reflect.Kind]string{reflect.Int: "integer", reflect.Float64: "real", reflect.Bool: "boolean", reflect.String: "string"}[t.Kind()]
	return BaseType{Type: name}, name != ""
}

// Name returns the name of the table.
func (m Model[T]) Name() string { return m.table }

// Columns returns the names of the columns.
func (m Model[T]) Columns() []string {
	var out []string
	for _, f := range m.fields {
		out = append(out, f.column)
	}
	return out
}

// unfit returns errors for missing columns and columns of another type.
func (m Model[T]) unfit(s Schema) (problems []error) {
	table, ok := s.Tables[m.table]
	if !ok {
		return []error{fmt.Errorf("table %s is missing", m.table)}
	}
	for _, f := range m.fields {
		t, ok := table.column(f.column)
		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("table %s: column %s is missing", m.table, f.column))
		case t.String() != f.t.String():
			problems = append(problems, fmt.Errorf("table %s: column %s has the type %s, the client expects %s", m.table, f.column, t, f.t))
		}
	}
	return problems
}

// Fits returns an error that names all tables and columns of models that the schema lacks or has with another type; nil if there are none.
func (s Schema) Fits(tables ...Table) error {
	var problems []error
	for _, t := range tables {
		problems = append(problems, t.unfit(s)...)
	}
	if len(problems) > 0 {
		return s.unfit(problems)
	}
	return nil
}

// Columns returns the columns of models by table, for NewCache.
func Columns(tables ...Table) map[string][]string {
	out := map[string][]string{}
	for _, t := range tables {
		all := slices.Concat(out[t.Name()], t.Columns())
		slices.Sort(all)
		out[t.Name()] = slices.Compact(all)
	}
	return out
}
