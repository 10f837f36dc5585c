package ovsdb

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// The keys in the column external_ids by which an owner finds its rows.
const (
	ownerMark = "cno-owner"
	keyMark   = "cno-key"
	marks     = "external_ids"
)

// Ref refers to a desired row. It can be the value of a column, or a member of a Set.
type Ref struct{ Table, Key string }

// String returns the table and the key.
func (r Ref) String() string { return r.Table + " " + strconv.Quote(r.Key) }

// Desired is a desired row of an owner. Plan stores the owner and the key in the column external_ids. In a table without that column all rows belong to
// the owner, and the key is the column of the table's index, such as the name.
type Desired struct {
	// Ref is the table and a key, which is unique among the owner's rows of the table, and stable.
	Ref
	// Columns are values as for Insert, or Refs. Omitted columns are not compared.
	Columns map[string]any
}

// Plan returns the operations of a transaction after which a database has exactly the desired rows of an owner; none if it already has. Rows without the
// owner's mark are neither changed nor deleted. The snapshot must have all columns of the tables of the desired rows, and of all tables in which the owner
// may have rows. The error names all desired rows that violate the schema.
func Plan(schema Schema, owner string, desired []Desired, live Snapshot) ([]Operation, error) {
	p, err := plan(schema, owner, desired, live)
	if err != nil {
		return nil, err
	}
	return p.operations, nil
}

func plan(schema Schema, owner string, desired []Desired, live Snapshot) (*planner, error) {
	p := &planner{schema: schema, owner: owner, live: live, existing: map[Ref]UUID{}, names: map[Ref]Named{}}
	p.find()
	desired = slices.SortedFunc(slices.Values(desired), func(a, b Desired) int { return a.compare(b.Ref) })
	p.name(desired)
	for _, w := range desired {
		p.row(w)
	}
	p.unreachable(desired)
	if len(p.problems) > 0 {
		return nil, fmt.Errorf("plan the rows of %s in %s: %w", owner, schema.Name, errors.Join(p.problems...))
	}
	for _, r := range slices.SortedFunc(maps.Keys(p.existing), Ref.compare) {
		if _, keep := p.names[r]; !keep {
			p.operations = append(p.operations, Delete(r.Table, Is(p.existing[r])))
			p.differ(Stale, r, p.existing[r])
		}
	}
	p.operations = append(p.operations, p.copies...)
	return p, nil
}

func (r Ref) compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Table, o.Table), cmp.Compare(r.Key, o.Key))
}

type planner struct {
	schema Schema
	owner  string
	live   Snapshot
	// existing are the owner's rows, names the names of the desired rows in operations.
	existing map[Ref]UUID
	names    map[Ref]Named
	// referred are the rows that desired rows refer to.
	referred   map[Ref]bool
	operations []Operation
	// copies delete rows that have the same mark as another one.
	copies   []Operation
	problems []error
	// differences are the changes of the operations.
	differences []Difference
}

// find finds the owner's rows by their marks.
func (p *planner) find() {
	for _, table := range slices.Sorted(maps.Keys(p.live.tables)) {
		// Sorted, so that the choice among rows with the same mark is deterministic.
		for _, id := range slices.Sorted(maps.Keys(p.live.tables[table])) {
			r, owned := p.schema.Tables[table].mark(p.owner, table, p.live.Row(table, id))
			switch {
			case !owned:
			case p.existing[r] != "":
				p.copies = append(p.copies, Delete(table, Is(id)))
				p.differ(Duplicate, r, id)
			default:
				p.existing[r] = id
			}
		}
	}
}

// mark returns the reference to a row, and whether the row belongs to the owner.
func (t TableSchema) mark(owner, table string, row Row) (Ref, bool) {
	if _, marked := t.Columns[marks]; marked {
		ids := row.Map(marks)
		return Ref{Table: table, Key: ids[keyMark]}, ids[ownerMark] == owner
	}
	column := t.keyColumn()
	return Ref{Table: table, Key: row.Text(column)}, column != ""
}

// keyColumn returns the column that is an index of the table; empty if there is none.
func (t TableSchema) keyColumn() string {
	for _, index := range t.Indexes {
		if len(index) == 1 {
			return index[0]
		}
	}
	return ""
}

// marked returns columns with the owner's mark.
func (t TableSchema) marked(owner string, w Desired) (map[string]any, error) {
	columns := maps.Clone(w.Columns)
	if columns == nil {
		columns = map[string]any{}
	}
	if _, marked := t.Columns[marks]; !marked {
		column := t.keyColumn()
		if column == "" {
			return nil, fmt.Errorf("%s: the schema has no table of that name with the column %s, or an index of one column", w.Ref, marks)
		}
		columns[column] = w.Key
		return columns, nil
	}
	ids, ok := columns[marks].(Map)
	if columns[marks] != nil && !ok {
		return nil, fmt.Errorf("%s: column %s is not a Map", w.Ref, marks)
	}
	merged := Map{ownerMark: owner, keyMark: w.Key}
	maps.Copy(merged, ids)
	columns[marks] = merged
	return columns, nil
}

func (p *planner) name(desired []Desired) {
	for i, w := range desired {
		if _, twice := p.names[w.Ref]; twice {
			p.problems = append(p.problems, fmt.Errorf("%s is desired twice", w.Ref))
		}
		p.names[w.Ref] = Named("row" + strconv.Itoa(i))
	}
	p.referred = map[Ref]bool{}
}

// row appends the operation that inserts or updates a row.
func (p *planner) row(w Desired) {
	table := p.schema.Tables[w.Table]
	columns, err := table.marked(p.owner, w)
	if err != nil {
		p.problems = append(p.problems, err)
		return
	}
	id, exists := p.existing[w.Ref]
	changes := map[string]any{}
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		value, differs, err := p.column(table, column, columns[column], p.live.Row(w.Table, id))
		if err != nil {
			p.problems = append(p.problems, fmt.Errorf("%s: column %s: %w", w.Ref, column, err))
		}
		if !exists || differs {
			changes[column] = value
		}
	}
	switch {
	case !exists:
		p.operations = append(p.operations, Insert(w.Table, string(p.names[w.Ref]), changes))
		p.differ(Missing, w.Ref, "")
	case len(changes) > 0:
		p.operations = append(p.operations, Update(w.Table, changes, Is(id)))
		p.differ(Changed, w.Ref, id, slices.Sorted(maps.Keys(changes))...)
	}
}

// column returns the value of a column for an operation, and whether the row has another value.
func (p *planner) column(table TableSchema, column string, desired any, row Row) (value any, differs bool, err error) {
	t, ok := table.column(column)
	if !ok {
		return nil, false, errors.New("the schema does not have it")
	}
	value, isNew, err := p.resolve(desired)
	if err != nil || isNew {
		return value, true, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, false, err
	}
	if bytes.Equal(data, row[column]) {
		return value, false, nil // the common case; decoding is ten times as expensive
	}
	want, err := t.decode(data)
	if err != nil {
		return nil, false, err
	}
	got, err := t.decode(row[column])
	return value, err != nil || !slices.Equal(want, got), nil
}

// resolve replaces references by UUIDs, or by the names of rows in operations. isNew reports whether one of the rows does not exist yet.
func (p *planner) resolve(value any) (resolved any, isNew bool, err error) {
	switch v := value.(type) {
	case Ref:
		p.referred[v] = true
		if _, ok := p.names[v]; !ok {
			return nil, false, fmt.Errorf("it refers to %s, which is not desired", v)
		}
		if id, exists := p.existing[v]; exists {
			return id, false, nil
		}
		return p.names[v], true, nil
	case Set:
		out := make(Set, len(v))
		for i, member := range v {
			var newer bool
			if out[i], newer, err = p.resolve(member); err != nil {
				return nil, false, err
			}
			isNew = isNew || newer
		}
		return out, isNew, nil
	}
	return value, false, nil
}

// unreachable reports rows that the server would remove at once: a row of a non-root table exists only while another row refers to it.
func (p *planner) unreachable(desired []Desired) {
	for _, w := range desired {
		if table, ok := p.schema.Tables[w.Table]; ok && !table.IsRoot && !p.referred[w.Ref] {
			p.problems = append(p.problems, fmt.Errorf("%s: no desired row refers to it, which rows of this table need to exist", w.Ref))
		}
	}
}
