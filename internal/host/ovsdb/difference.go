package ovsdb

import "slices"

// DifferenceKind is how a row differs from what is desired.
type DifferenceKind string

// The kinds of differences.
const (
	// Missing is a desired row that does not exist.
	Missing DifferenceKind = "missing"
	// Stale is a row of the owner that is not desired.
	Stale DifferenceKind = "stale"
	// Changed is a row with other values than desired.
	Changed DifferenceKind = "changed"
	// Duplicate is one more row with the mark of another one.
	Duplicate DifferenceKind = "duplicate"
)

// Difference is a row of an owner that is not as desired.
type Difference struct {
	Ref
	Kind DifferenceKind
	// UUID is that of the row; empty if it is missing. Columns are those with other values, for Changed alone.
	UUID    UUID
	Columns []string
}

// Compare returns what the operations of Plan would change, in the order of tables and keys; nothing if a database has exactly the desired rows.
func Compare(schema Schema, owner string, desired []Desired, have Snapshot) ([]Difference, error) {
	p, err := plan(schema, owner, desired, have)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.differences, func(a, b Difference) int { return a.compare(b.Ref) })
	return p.differences, nil
}

func (p *planner) differ(kind DifferenceKind, r Ref, id UUID, columns ...string) {
	p.differences = append(p.differences, Difference{Ref: r, Kind: kind, UUID: id, Columns: columns})
}
