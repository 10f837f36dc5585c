package ovsdb

import (
	"maps"
	"slices"
	"time"
)

// Operation is an operation of a transaction (RFC 7047, section 5.2).
type Operation map[string]any

// Condition selects rows, for example ["name", "==", "br-ex"]. No conditions select all rows.
type Condition []any

// Equal returns the condition that a column has a value.
func Equal(column string, value any) Condition { return Condition{column, "==", value} }

// Includes returns the condition that a set or map contains all elements of value.
func Includes(column string, value any) Condition { return Condition{column, "includes", value} }

// Is returns the condition that a row has a UUID.
func Is(id UUID) Condition { return Equal("_uuid", id) }

func where(conditions []Condition) []Condition {
	if conditions == nil {
		return []Condition{} // null is not a list
	}
	return conditions
}

// Select returns an operation that reads columns of rows.
func Select(table string, columns []string, conditions ...Condition) Operation {
	return Operation{"op": "select", "table": table, "columns": columns, "where": where(conditions)}
}

// Insert returns an operation that inserts a row. Operations of the same transaction refer to it as Named(name); name may be empty.
func Insert(table, name string, row map[string]any) Operation {
	op := Operation{"op": "insert", "table": table, "row": row}
	if name != "" {
		op["uuid-name"] = name
	}
	return op
}

// Update returns an operation that sets columns of rows.
func Update(table string, row map[string]any, conditions ...Condition) Operation {
	return Operation{"op": "update", "table": table, "row": row, "where": where(conditions)}
}

// Mutate returns an operation that changes a column of rows: mutator is +=, insert, delete, ...
func Mutate(table, column, mutator string, value any, conditions ...Condition) Operation {
	return Operation{"op": "mutate", "table": table, "where": where(conditions), "mutations": [][]any{{column, mutator, value}}}
}

// Delete returns an operation that removes rows.
func Delete(table string, conditions ...Condition) Operation {
	return Operation{"op": "delete", "table": table, "where": where(conditions)}
}

// Wait returns an operation that waits until columns of rows are equal to those of the given rows ("==") or not ("!="), in no particular order. After the
// timeout, at once if it is 0, the transaction fails with the code "timed out". See Guard.
func Wait(table string, timeout time.Duration, columns []string, until string, rows []map[string]any, conditions ...Condition) Operation {
	op := WaitWithoutTimeout(table, columns, until, rows, conditions...)
	op["timeout"] = timeout.Milliseconds()
	return op
}

// WaitWithoutTimeout is Wait until the context of the transaction ends.
func WaitWithoutTimeout(table string, columns []string, until string, rows []map[string]any, conditions ...Condition) Operation {
	if rows == nil {
		rows = []map[string]any{} // null is not a list
	}
	return Operation{"op": "wait", "table": table, "columns": columns, "until": until, "rows": rows, "where": where(conditions)}
}

// Guard returns an operation that fails the transaction, with the code "timed out", unless exactly one row matches the conditions and has these values.
func Guard(table string, row map[string]any, conditions ...Condition) Operation {
	return Wait(table, 0, slices.Sorted(maps.Keys(row)), "==", []map[string]any{row}, conditions...)
}
