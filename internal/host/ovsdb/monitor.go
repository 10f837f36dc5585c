package ovsdb

import (
	"context"
	"errors"
)

// Updates is what changed, by table and row. A row that went has no new value.
type Updates map[string]map[string]RowUpdate

// RowUpdate is how a row changed: Old holds only the columns that differ.
type RowUpdate struct {
	Old Row `json:"old"`
	New Row `json:"new"`
}

// Monitor watches columns of tables. It returns their rows as they are, and a channel with a value whenever
// they changed, which says only that it is time to look again: changes while no one receives are one value. The channel is closed
// when the connection ends. A client has one monitor.
func (c *Client) Monitor(ctx context.Context, database string, columns map[string][]string) (Updates, <-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	if err := c.watch(changed); err != nil {
		return nil, nil, err
	}
	requests := map[string]any{}
	for table, names := range columns {
		requests[table] = map[string]any{"columns": names}
	}
	var initial Updates
	if err := c.call(ctx, "monitor", []any{database, nil, requests}, &initial); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed = nil
		return nil, nil, err
	}
	return initial, changed, nil
}

func (c *Client) watch(changed chan struct{}) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if c.changed != nil {
		return errors.New("this ovsdb client monitors already")
	}
	c.changed = changed
	return nil
}

// notify says that something changed, without ever blocking the reader of the connection.
func (c *Client) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		return
	}
	select {
	case c.changed <- struct{}{}:
	default: // no one has looked since the last one
	}
}
