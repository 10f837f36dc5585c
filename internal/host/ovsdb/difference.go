package ovsdb

import "slices"

// DifferenceKind is the kind of a difference between a row and the desired state.
type DifferenceKind string

// The kinds of differences.
const (
	// Missing is a desired row that does not exist.
	Missing DifferenceKind = "missing"
	// Stale is a row of the owner that is not desired.
	Stale DifferenceKind = "stale"
	// Changed is a row with other values than desired.
	Changed DifferenceKind = "changed"
	// Duplicate is a further row with the mark of another row.
	Duplicate DifferenceKind = "duplicate"
)

// Difference is a row of an owner that differs from the desired state.
type Difference struct {
	Ref
	Kind DifferenceKind
	// UUID is the UUID of the row; empty for Missing. Columns are the columns with other values; only for Changed.
	UUID    UUID
	Columns []string
}

// Compare returns the rows that the operations of Plan would change, ordered by table and key; none if the database has exactly the desired rows.
func Compare(schema Schema, owner string, desired []Desired, live Snapshot) ([]Difference, error) {
	p, err := plan(schema, owner, desired, live)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.differences, func(a, b Difference) int { return a.compare(b.Ref) })
	return p.differences, nil
}

func (p *planner) differ(kind DifferenceKind, r Ref, id UUID, columns ...string) {
	p.differences = append(p.differences, Difference{Ref: r, Kind: kind, UUID: id, Columns: columns})
}
