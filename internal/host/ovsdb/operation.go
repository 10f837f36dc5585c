package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Operation is one operation of a transaction, as RFC 7047, section 5.2, has them.
type Operation map[string]any

// Condition selects rows, as ["name", "==", "br-ex"]. No condition at all selects every row.
type Condition []any

// Equal is the condition that a column has a value.
func Equal(column string, value any) Condition { return Condition{column, "==", value} }

// Is is the condition that a row is the one with this UUID.
func Is(id UUID) Condition { return Equal("_uuid", id) }

func where(conditions []Condition) []Condition {
	if conditions == nil {
		return []Condition{} // null is not a list
	}
	return conditions
}

// Select reads columns of rows.
func Select(table string, columns []string, conditions ...Condition) Operation {
	return Operation{"op": "select", "table": table, "columns": columns, "where": where(conditions)}
}

// Insert makes a row. Operations of the same transaction refer to it as Named(name); name may be empty.
func Insert(table, name string, row map[string]any) Operation {
	op := Operation{"op": "insert", "table": table, "row": row}
	if name != "" {
		op["uuid-name"] = name
	}
	return op
}

// Update sets columns of rows.
func Update(table string, row map[string]any, conditions ...Condition) Operation {
	return Operation{"op": "update", "table": table, "row": row, "where": where(conditions)}
}

// Mutate changes one column of rows: mutator is +=, insert, delete, ...
func Mutate(table, column, mutator string, value any, conditions ...Condition) Operation {
	return Operation{"op": "mutate", "table": table, "where": where(conditions), "mutations": [][]any{{column, mutator, value}}}
}

// Delete removes rows.
func Delete(table string, conditions ...Condition) Operation {
	return Operation{"op": "delete", "table": table, "where": where(conditions)}
}

// Result is what one operation of a transaction gave.
type Result struct {
	Rows  []Row `json:"rows"`  // of Select
	UUID  UUID  `json:"uuid"`  // of Insert
	Count int   `json:"count"` // rows changed by Update, Mutate and Delete

	Error   string `json:"error"`
	Details string `json:"details"`
}

// Transact carries out operations of a database, all or none. It returns one result for each operation; any
// that was refused is the error.
func (c *Client) Transact(ctx context.Context, database string, operations ...Operation) ([]Result, error) {
	params := []any{database}
	for _, op := range operations {
		params = append(params, op)
	}
	var raw []json.RawMessage
	if _, err := c.call(ctx, "transact", params, &raw); err != nil {
		return nil, err
	}
	results, failures := make([]Result, len(raw)), []error(nil)
	for i, r := range raw {
		// A null stands for what was not tried, as an operation before it failed.
		if err := json.Unmarshal(r, &results[i]); err != nil {
			return nil, fmt.Errorf("read result %d of an ovsdb transaction: %w", i, err)
		}
		if results[i].Error != "" {
			failures = append(failures, fmt.Errorf("%s: %s: %s", describe(operations, i), results[i].Error, results[i].Details))
		}
	}
	if len(failures) > 0 {
		return nil, fmt.Errorf("ovsdb transaction refused: %w", errors.Join(failures...))
	}
	if len(results) < len(operations) {
		return nil, fmt.Errorf("ovsdb answered %d of %d operations", len(results), len(operations))
	}
	return results, nil
}

// describe names an operation; the result after the last operation is the commit's own.
func describe(operations []Operation, i int) string {
	if i >= len(operations) {
		return "commit"
	}
	return fmt.Sprintf("%s %s", operations[i]["op"], operations[i]["table"])
}
