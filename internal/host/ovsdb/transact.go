package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
)

// Transact carries out operations on a database atomically. It returns one result for each operation. The error contains an OperationError for each
// operation that the server refused, and an UnknownOutcomeError if no response arrived; after all other errors the database is unchanged. When the
// context ends, a transaction that waits at the server is canceled.
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
