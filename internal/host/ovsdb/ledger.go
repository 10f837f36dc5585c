package ovsdb

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// Ledger remembers the rows that an owner has written, so that the cost of a change does not depend on the size of the database: Replace works as Plan,
// and Change then writes differences. Change does not detect changes of third parties; Replace does. A Ledger is not safe for concurrent use.
type Ledger struct {
	schema Schema
	owner  string
	rows   map[Ref]entry
}

// entry is a row that was written.
type entry struct {
	id      UUID
	columns map[string]any // with the mark
}

// NewLedger returns an empty ledger. Replace must be called first.
func NewLedger(schema Schema, owner string) *Ledger {
	return &Ledger{schema: schema, owner: owner, rows: map[Ref]entry{}}
}

// Len is the number of rows.
func (l *Ledger) Len() int { return len(l.rows) }

// Transaction has the operations that change a database to the desired state.
type Transaction struct {
	// Operations are empty if the database has the desired state.
	Operations []Operation
	commit     func([]Result)
}

// Commit records that the operations were carried out, with these results. Without it, the ledger is unchanged.
func (t Transaction) Commit(results []Result) { t.commit(results) }

// Replace returns the transaction after which a database has exactly the desired rows, as Plan does.
func (l *Ledger) Replace(desired []Desired, live Snapshot) (Transaction, error) {
	p, err := plan(l.schema, l.owner, desired, live)
	if err != nil {
		return Transaction{}, err
	}
	return Transaction{p.operations, func(results []Result) {
		ids := inserted(p.operations, results)
		l.rows = make(map[Ref]entry, len(desired))
		for _, w := range desired {
			id, exists := p.existing[w.Ref]
			if !exists {
				id = ids[p.names[w.Ref]]
			}
			columns, _ := l.schema.Tables[w.Table].marked(l.owner, w) // plan has refused tables without one
			l.rows[w.Ref] = entry{id, columns}
		}
	}}, nil
}

// inserted returns the UUIDs of inserted rows by their names.
func inserted(operations []Operation, results []Result) map[Named]UUID {
	ids := map[Named]UUID{}
	for i, o := range operations {
		if name, ok := o["uuid-name"].(string); ok && i < len(results) {
			ids[Named(name)] = results[i].UUID
		}
	}
	return ids
}

// Change returns the transaction after which the changed rows have these columns, and the removed rows do not exist. Other rows are unchanged. The error
// names all rows that refer to a missing row.
func (l *Ledger) Change(changed []Desired, removed []Ref) (Transaction, error) {
	c := change{Ledger: l, names: map[Ref]Named{}, next: map[Ref]entry{}, removed: map[Ref]bool{}}
	for _, r := range removed {
		c.removed[r] = true
	}
	for i, w := range changed {
		if _, exists := l.rows[w.Ref]; !exists {
			c.names[w.Ref] = Named("row" + strconv.Itoa(i))
		}
	}
	for _, w := range slices.SortedFunc(slices.Values(changed), func(a, b Desired) int { return a.compare(b.Ref) }) {
		c.row(w)
	}
	for _, r := range slices.SortedFunc(maps.Keys(c.removed), Ref.compare) {
		if e, exists := l.rows[r]; exists {
			c.operations = append(c.operations, Delete(r.Table, Is(e.id)))
		}
	}
	if len(c.problems) > 0 {
		return Transaction{}, fmt.Errorf("change the rows of %s in %s: %w", l.owner, l.schema.Name, errors.Join(c.problems...))
	}
	return Transaction{c.operations, c.commit}, nil
}

type change struct {
	*Ledger
	names      map[Ref]Named
	next       map[Ref]entry
	removed    map[Ref]bool
	operations []Operation
	problems   []error
}

func (c *change) commit(results []Result) {
	ids := inserted(c.operations, results)
	for r, e := range c.next {
		if name, isNew := c.names[r]; isNew {
			e.id = ids[name]
		}
		c.rows[r] = e
	}
	for r := range c.removed {
		delete(c.rows, r)
	}
}

func (c *change) row(w Desired) {
	columns, err := c.schema.Tables[w.Table].marked(c.owner, w)
	if err != nil {
		c.problems = append(c.problems, err)
		return
	}
	old, exists := c.rows[w.Ref]
	c.next[w.Ref] = entry{old.id, columns}
	values := map[string]any{}
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		before, had := old.columns[column]
		if had && c.members(w.Ref, column, before, columns[column]) || had && reflect.DeepEqual(before, columns[column]) {
			continue
		}
		if values[column], err = c.resolve(columns[column]); err != nil {
			c.problems = append(c.problems, fmt.Errorf("%s: column %s: %w", w.Ref, column, err))
		}
	}
	switch {
	case !exists:
		c.operations = append(c.operations, Insert(w.Table, string(c.names[w.Ref]), values))
	case len(values) > 0:
		c.operations = append(c.operations, Update(w.Table, values, Is(old.id)))
	}
}

// maxMembersToReplace is the maximum size of a set that is written as a whole.
const maxMembersToReplace = 8

// members adds and removes single members of a large set, instead of writing the whole set. It reports whether the column is complete.
func (c *change) members(r Ref, column string, before, after any) bool {
	old, wasSet := before.(Set)
	desired, isSet := after.(Set)
	if !wasSet || !isSet {
		return false
	}
	added, deleted := difference(desired, old), difference(old, desired)
	switch {
	case len(added)+len(deleted) == 0:
		return true
	case max(len(old), len(desired)) <= maxMembersToReplace || len(added)+len(deleted) > len(desired):
		return false
	}
	remaining, err := c.resolve(added)
	if err != nil {
		c.problems = append(c.problems, fmt.Errorf("%s: column %s: %w", r, column, err))
	}
	leaving := Set{}
	for _, member := range deleted {
		if ref, ok := member.(Ref); ok {
			if c.rows[ref].id == "" {
				continue // a missing row is not a member
			}
			member = c.rows[ref].id
		}
		leaving = append(leaving, member)
	}
	if len(leaving) > 0 {
		c.operations = append(c.operations, Mutate(r.Table, column, "delete", leaving, Is(c.rows[r].id)))
	}
	if len(added) > 0 {
		c.operations = append(c.operations, Mutate(r.Table, column, "insert", remaining, Is(c.rows[r].id)))
	}
	return true
}

// difference returns the members of a set that another set lacks.
func difference(of, other Set) Set {
	has := make(map[any]bool, len(other))
	for _, member := range other {
		has[member] = true
	}
	var out Set
	for _, member := range of {
		if !has[member] {
			out = append(out, member)
		}
	}
	return out
}

// resolve replaces references by UUIDs, or by the names of rows in operations.
func (c *change) resolve(value any) (any, error) {
	switch v := value.(type) {
	case Ref:
		if name, isNew := c.names[v]; isNew {
			return name, nil
		}
		if e, exists := c.rows[v]; exists && !c.removed[v] {
			return e.id, nil
		}
		return nil, fmt.Errorf("it refers to %s, which does not exist", v)
	case Set:
		out := make(Set, len(v))
		var problems []error
		for i, member := range v {
			var err error
			if out[i], err = c.resolve(member); err != nil {
				problems = append(problems, err)
			}
		}
		return out, errors.Join(problems...)
	}
	return value, nil
}
