package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("ovsdb connection closed")

// ErrInactive is the error of a connection whose server did not answer a probe.
var ErrInactive = errors.New("ovsdb server does not answer")

// ErrTooLarge is the error of a message that exceeds Options.MaxMessage. Such a message from the server ends the connection.
var ErrTooLarge = errors.New("ovsdb message is too large")

// ErrSlowReader is the error of a connection whose updates were not read fast enough.
var ErrSlowReader = errors.New("ovsdb updates are read too slowly")

// Client is one connection to an OVSDB server.
type Client struct {
	conn     net.Conn
	options  Options
	outbox   chan []byte // read by write; a message counts as sent when it is read
	echoes   chan []byte // answers to the server's probes; separate, so that receive never blocks
	received atomic.Bool // since the last tick of probe
	running  sync.WaitGroup

	mu       sync.Mutex
	next     int
	waiting  map[int]chan message
	monitors map[string]*updateQueue // by the id of the monitor
	err      error                   // why the connection ended
	done     chan struct{}           // closed when err is set
}

// message is a request, a response or a notification of JSON-RPC 1.0.
type message struct {
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// newClient returns a client that owns a connection. options have all defaults.
func newClient(conn net.Conn, options Options) *Client {
	c := &Client{
		conn: conn, options: options, outbox: make(chan []byte), echoes: make(chan []byte, 16),
		waiting: map[int]chan message{}, monitors: map[string]*updateQueue{}, done: make(chan struct{}),
	}
	c.running.Go(c.receive)
	c.running.Go(c.write)
	c.running.Go(c.probe)
	return c
}

// Close closes the connection, fails all calls on it, and waits for its goroutines.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	c.running.Wait()
	return nil
}

// spawn runs a function for which Close waits; it must end with the connection.
func (c *Client) spawn(f func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.running.Go(f)
	return nil
}

// Done is closed when the connection has ended; Err then returns the reason.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns the reason why the connection ended, nil while it exists.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ServerError is the error of a call that the server refused.
type ServerError struct {
	Method string
	// Reason is the server's text: a string, or an object of JSON.
	Reason string
}

// Error names the method and the reason.
func (e *ServerError) Error() string { return "ovsdb " + e.Method + ": " + e.Reason }

// call sends a request and waits for its response, which it decodes into result. sent reports whether the server may have received the request.
func (c *Client) call(ctx context.Context, method string, params, result any) (sent bool, err error) {
	answer, id, err := c.expect()
	if err != nil {
		return false, fmt.Errorf("ovsdb %s: %w", method, err)
	}
	defer c.forget(id)
	if err := c.send(ctx, map[string]any{"method": method, "params": params, "id": id}); err != nil {
		return false, fmt.Errorf("ovsdb %s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		c.cancel(method, id)
		return true, fmt.Errorf("ovsdb %s: %w", method, ctx.Err())
	case m, ok := <-answer:
		if !ok {
			return true, fmt.Errorf("ovsdb %s: %w", method, c.Err())
		}
		if len(m.Error) > 0 && string(m.Error) != "null" {
			return true, &ServerError{Method: method, Reason: reasonOf(m.Error)}
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return true, fmt.Errorf("ovsdb %s: read the response: %w", method, err)
		}
		return true, nil
	}
}

func reasonOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// cancel cancels a transaction that may be waiting at the server. Its outcome remains unknown, since it may already be complete.
func (c *Client) cancel(method string, id int) {
	if method != "transact" {
		return
	}
	data, err := json.Marshal(map[string]any{"method": "cancel", "params": []any{id}, "id": nil})
	if err != nil {
		return
	}
	select {
	case c.echoes <- data: // never blocks, as the caller's context has ended
	default:
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

func (c *Client) answer(m message) {
	var id int
	if json.Unmarshal(m.ID, &id) != nil {
		return // the response to a probe, or an unknown id
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.waiting[id]; ok {
		answer <- m
		delete(c.waiting, id)
	}
}

// fail ends the connection; the first reason is kept. Responses that arrived before are still returned to their calls.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	_ = c.conn.Close()
	for _, answer := range c.waiting {
		close(answer)
	}
	clear(c.waiting)
	for _, q := range c.monitors {
		q.end()
	}
	clear(c.monitors)
}
