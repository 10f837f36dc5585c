package ovsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Result is the result of an operation of a transaction.
type Result struct {
	Rows  []Row `json:"rows"`  // of Select
	UUID  UUID  `json:"uuid"`  // of Insert
	Count int   `json:"count"` // rows changed by Update, Mutate and Delete

	Error   string `json:"error"`
	Details string `json:"details"`
}

// OperationError is the error of an operation that the server refused. The transaction has changed nothing.
type OperationError struct {
	// Index is the index of the operation; for the commit, the number of operations.
	Index int
	// Operation is its name, or "commit". Table is empty for the commit and comments.
	Operation, Table string
	// Code is the server's error, such as "constraint violation" or, of Wait, "timed out"; Details are its explanation.
	Code, Details string
}

// Error returns the operation, its table, and the server's error.
func (e *OperationError) Error() string {
	text := e.Operation
	if e.Table != "" {
		text += " " + e.Table
	}
	if e.Operation != commit {
		text = fmt.Sprintf("operation %d, %s", e.Index+1, text)
	}
	text += ": " + e.Code
	if e.Details != "" {
		text += ": " + e.Details
	}
	return text
}

// UnknownOutcomeError is the error of a transaction without a response: the server may or may not have made the changes, or may still make them. The
// caller can read the rows, or repeat a transaction that has a Guard.
type UnknownOutcomeError struct{ Err error }

// Error returns the message with the reason.
func (e *UnknownOutcomeError) Error() string {
	return "the outcome of an ovsdb transaction is unknown: " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

const commit = "commit"

// unknownOutcomeCodes are the error codes after which a transaction may or may not be durable.
var unknownOutcomeCodes = []string{"cluster error", "I/O error"}

// outcome reads the response to a transaction.
func outcome(operations []Operation, raw []json.RawMessage) ([]Result, error) {
	results, refusals, unknown := make([]Result, len(raw)), []error(nil), false
	for i, r := range raw {
		// The result is null if an earlier operation failed.
		if err := json.Unmarshal(r, &results[i]); err != nil {
			return nil, &UnknownOutcomeError{Err: fmt.Errorf("read result %d: %w", i+1, err)}
		}
		if results[i].Error != "" {
			refusals = append(refusals, refusal(operations, i, results[i]))
			unknown = unknown || slices.Contains(unknownOutcomeCodes, results[i].Error)
		}
	}
	switch {
	case unknown:
		return nil, &UnknownOutcomeError{Err: errors.Join(refusals...)}
	case len(refusals) > 0:
		return nil, fmt.Errorf("ovsdb transaction refused: %w", errors.Join(refusals...))
	case len(results) < len(operations):
		return nil, &UnknownOutcomeError{Err: fmt.Errorf("the answer has %d results for %d operations", len(results), len(operations))}
	}
	return results, nil
}

// refusal names an operation; the result after the last operation is that of the commit.
func refusal(operations []Operation, i int, r Result) *OperationError {
	e := &OperationError{Index: i, Operation: commit, Code: r.Error, Details: r.Details}
	if i < len(operations) {
		e.Operation, _ = operations[i]["op"].(string)
		e.Table, _ = operations[i]["table"].(string)
	}
	return e
}
