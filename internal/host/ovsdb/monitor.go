package ovsdb

import "context"

// Updates is what changed, by table and row. A row that went has no new value.
type Updates map[string]map[string]RowUpdate

// RowUpdate is how a row changed: Old holds only the columns that differ.
type RowUpdate struct {
	Old Row `json:"old"`
	New Row `json:"new"`
}

// Monitor watches columns of tables. It returns their rows as they are, and a channel with a value whenever
// they changed, which says only that it is time to look again: changes while no one receives are one value. The channel is closed
// when the connection ends.
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

// signal sends a value for updates until the queue ends, which it does with the connection.
func signal(q *updateQueue, changed chan<- struct{}) {
	defer close(changed)
	for {
		if _, more := q.take(context.Background()); !more {
			return
		}
		select {
		case changed <- struct{}{}:
		default: // no one has looked since the last one
		}
	}
}
