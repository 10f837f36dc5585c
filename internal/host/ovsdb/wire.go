package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// probeID is the id of echo requests; calls have numbers.
const probeID = "probe"

// send passes a message to the writer. After an error, the server does not receive it.
func (c *Client) send(ctx context.Context, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the message: %w", err)
	}
	if len(data) > c.options.MaxMessage {
		return fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrTooLarge, len(data), c.options.MaxMessage)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.outbox <- data:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return c.Err()
	}
}

// write writes one message after another until the connection ends.
func (c *Client) write() {
	for {
		var data []byte
		select {
		case <-c.done:
			return
		case data = <-c.outbox:
		case data = <-c.echoes:
		}
		err := c.conn.SetWriteDeadline(time.Now().Add(2 * c.options.ProbeInterval))
		if err == nil {
			_, err = c.conn.Write(data)
		}
		if err != nil {
			c.fail(fmt.Errorf("write to ovsdb: %w", err))
			return
		}
	}
}

// probe ends the connection if the server is silent for an interval, and does not answer an echo within the next interval.
func (c *Client) probe() {
	ticker := time.NewTicker(c.options.ProbeInterval)
	defer ticker.Stop()
	request, probed := []byte(`{"method":"echo","params":[],"id":"`+probeID+`"}`), false
	for {
		select {
		case <-c.done:
			return
		case <-ticker.C:
		}
		switch {
		case c.received.Swap(false):
			probed = false
		case probed:
			c.fail(fmt.Errorf("%w for %s", ErrInactive, 2*c.options.ProbeInterval))
			return
		default:
			probed = true
			select {
			case c.echoes <- request:
			default: // the writer is blocked, and has a deadline
			}
		}
	}
}

// receive dispatches messages of the server until the connection ends.
func (c *Client) receive() {
	in := &boundedReader{client: c}
	decoder := json.NewDecoder(in)
	in.offset = decoder.InputOffset
	for {
		var m message
		if err := decoder.Decode(&m); err != nil {
			c.fail(fmt.Errorf("read from ovsdb: %w", err))
			return
		}
		if err := c.dispatch(m); err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *Client) dispatch(m message) error {
	switch m.Method {
	case "":
		c.answer(m)
	case "echo": // the server's probe; it disconnects clients that do not answer
		data, err := json.Marshal(map[string]any{"id": m.ID, "result": m.Params, "error": nil})
		if err != nil {
			return fmt.Errorf("answer an echo of ovsdb: %w", err)
		}
		select {
		case c.echoes <- data:
		default:
			return fmt.Errorf("%w: it sends probes but does not read their answers", ErrInactive)
		}
	case "update", "update2", "update3":
		return c.update(m)
	case "monitor_canceled":
		return fmt.Errorf("the ovsdb server canceled the monitor %s", m.Params)
	}
	return nil
}

// boundedReader fails if a message is larger than the limit, before the whole message is in memory.
type boundedReader struct {
	client *Client
	read   int64
	offset func() int64 // where the last complete message ends
}

func (r *boundedReader) Read(p []byte) (int, error) {
	if limit := r.client.options.MaxMessage; r.read-r.offset() > int64(limit) {
		return 0, fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, limit)
	}
	n, err := r.client.conn.Read(p)
	if n > 0 {
		r.read += int64(n)
		r.client.received.Store(true)
	}
	return n, err
}

var _ io.Reader = (*boundedReader)(nil)
