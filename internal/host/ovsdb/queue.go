package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// updateQueue has the unread updates of a monitor. Its size is bounded, and adding never blocks.
type updateQueue struct {
	limit int

	mu      sync.Mutex
	pending []update
	size    int
	ended   bool
	signal  chan struct{} // has a value when pending is not empty or the queue has ended
}

// update is a notification of a monitor: its method, and the parameters after the monitor's id.
type update struct {
	method string
	params []json.RawMessage
}

func newUpdateQueue(limit int) *updateQueue {
	return &updateQueue{limit: limit, signal: make(chan struct{}, 1)}
}

func (q *updateQueue) add(u update, size int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size += size; q.size > q.limit {
		return fmt.Errorf("%w: %d bytes wait for their reader, the limit is %d", ErrSlowReader, q.size, q.limit)
	}
	q.pending = append(q.pending, u)
	q.wake()
	return nil
}

func (q *updateQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.wake()
}

func (q *updateQueue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// take waits for updates and returns all of them, in order; more is false at the end of the queue or of the context.
func (q *updateQueue) take(ctx context.Context) (updates []update, more bool) {
	for {
		q.mu.Lock()
		updates, q.pending, q.size = q.pending, nil, 0
		ended := q.ended
		q.mu.Unlock()
		if len(updates) > 0 || ended {
			return updates, len(updates) > 0
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-q.signal:
		}
	}
}

// subscribe creates the queue of a monitor before the monitor is requested, so that no update is lost.
func (c *Client) subscribe() (id string, q *updateQueue, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", nil, c.err
	}
	c.next++
	id, q = fmt.Sprintf("monitor-%d", c.next), newUpdateQueue(c.options.MaxMessage)
	c.monitors[id] = q
	return id, q, nil
}

func (c *Client) unsubscribe(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, ok := c.monitors[id]; ok {
		q.end()
		delete(c.monitors, id)
	}
}

// update adds a notification to the queue of its monitor.
func (c *Client) update(m message) error {
	var params []json.RawMessage
	var id string
	if err := json.Unmarshal(m.Params, &params); err != nil || len(params) < 2 {
		return fmt.Errorf("ovsdb %s has invalid parameters: %.200s", m.Method, m.Params)
	}
	if err := json.Unmarshal(params[0], &id); err != nil {
		return nil // an unknown id
	}
	c.mu.Lock()
	q := c.monitors[id]
	c.mu.Unlock()
	if q == nil {
		return nil // a monitor that has ended
	}
	return q.add(update{method: m.Method, params: params[1:]}, len(m.Params))
}
