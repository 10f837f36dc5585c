package ovsdb

import "context"

// Updates are row updates by table and row. A removed row has no new value.
type Updates map[string]map[string]RowUpdate

// RowUpdate is the change of a row. Old has only the columns that differ.
type RowUpdate struct {
	Old Row `json:"old"`
	New Row `json:"new"`
}

// Monitor watches columns of tables. It returns the current rows, and a channel that receives a value after changes: changes between two receives are one
// value. The channel is closed when the connection ends.
func (c *Client) Monitor(ctx context.Context, database string, columns map[string][]string) (Updates, <-chan struct{}, error) {
	id, q, err := c.subscribe()
	if err != nil {
		return nil, nil, err
	}
	requests := map[string]any{}
	for table, names := range columns {
		requests[table] = map[string]any{"columns": names}
	}
	var initial Updates
	if _, err := c.call(ctx, "monitor", []any{database, id, requests}, &initial); err != nil {
		c.unsubscribe(id)
		return nil, nil, err
	}
	changed := make(chan struct{}, 1)
	if err := c.spawn(func() { signal(q, changed) }); err != nil {
		return nil, nil, err
	}
	return initial, changed, nil
}

// signal sends a value after updates until the queue ends with the connection.
func signal(q *updateQueue, changed chan<- struct{}) {
	defer close(changed)
	for {
		if _, more := q.take(context.Background()); !more {
			return
		}
		select {
		case changed <- struct{}{}:
		default: // the last value was not received yet
		}
	}
}
