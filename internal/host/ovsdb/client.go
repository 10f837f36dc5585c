package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
)

// ErrClosed is what calls fail with after Close.
var ErrClosed = errors.New("ovsdb connection closed")

// Client is one connection to an OVSDB server.
type Client struct {
	conn net.Conn

	write sync.Mutex // one message at a time on the wire

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	changed chan struct{} // of the monitor; nil without one
	err     error         // why the connection is of no more use
	done    chan struct{} // closed when err is set
}

// message is a request, a response or a notification of JSON-RPC 1.0.
type message struct {
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// Dial connects to the server that listens on a unix socket.
func Dial(ctx context.Context, socket string) (*Client, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to ovsdb: %w", err)
	}
	c := &Client{conn: conn, waiting: map[int]chan message{}, done: make(chan struct{})}
	go c.receive()
	return c, nil
}

// Close ends the connection and every call on it.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	return nil
}

// call sends a request and waits for its response, which it decodes into result.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	answer, id, err := c.expect()
	if err != nil {
		return err
	}
	defer c.forget(id)
	if err := c.send(map[string]any{"method": method, "params": params, "id": id}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("ovsdb %s: %w", method, ctx.Err())
	case <-c.done:
		return fmt.Errorf("ovsdb %s: %w", method, c.err)
	case m := <-answer:
		if len(m.Error) > 0 && string(m.Error) != "null" {
			return fmt.Errorf("ovsdb %s: %s", method, m.Error)
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("ovsdb %s: read the answer: %w", method, err)
		}
		return nil
	}
}

func (c *Client) expect() (<-chan message, int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, 0, c.err
	}
	c.next++
	answer := make(chan message, 1)
	c.waiting[c.next] = answer
	return answer, c.next, nil
}

func (c *Client) forget(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

func (c *Client) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode ovsdb message: %w", err)
	}
	c.write.Lock()
	defer c.write.Unlock()
	if _, err := c.conn.Write(data); err != nil {
		return fmt.Errorf("write to ovsdb: %w", err)
	}
	return nil
}

// receive hands out what the server sends, until the connection ends.
func (c *Client) receive() {
	decoder := json.NewDecoder(c.conn)
	for {
		var m message
		if err := decoder.Decode(&m); err != nil {
			c.fail(fmt.Errorf("read from ovsdb: %w", err))
			return
		}
		switch m.Method {
		case "":
			c.answer(m)
		case "echo": // the server tests whether we live, and hangs up if not
			if err := c.send(map[string]any{"id": m.ID, "result": m.Params, "error": nil}); err != nil {
				c.fail(err)
				return
			}
		case "update":
			c.notify()
		}
	}
}

func (c *Client) answer(m message) {
	var id int
	if json.Unmarshal(m.ID, &id) != nil {
		return // not one of our ids
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.waiting[id]; ok {
		answer <- m
		delete(c.waiting, id)
	}
}

func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	_ = c.conn.Close()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}
