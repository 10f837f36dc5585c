package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
)

// Transact carries out operations of a database, all or none. It returns one result for each operation. The error is or contains an
// OperationError for each operation that the server refused, and an UnknownOutcomeError if no answer arrived; after all other errors
// nothing has changed. When the context ends, a transaction that still waits at the server is canceled.
func (c *Client) Transact(ctx context.Context, database string, operations ...Operation) ([]Result, error) {
	params := []any{database}
	for _, op := range operations {
		params = append(params, op)
	}
	var raw []json.RawMessage
	sent, err := c.call(ctx, "transact", params, &raw)
	var refused *ServerError
	switch {
	case err == nil:
		return outcome(operations, raw)
	case sent && !errors.As(err, &refused):
		return nil, &UnknownOutcomeError{Err: err}
	}
	return nil, err
}
