package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Cache has the rows of some tables of a database, and keeps them over several connections: after each one it fetches what changed since
// the last transaction that it knows, or compares everything where the server does not know that.
type Cache struct {
	database string
	columns  map[string][]string
	changed  func([]Change)

	following sync.Mutex // held by Follow; guards shape, and is all that reads tables need without mu
	shape     shape

	mu     sync.Mutex // guards what follows; only Follow writes it
	tables contents
	shared map[string]bool // tables that a snapshot has
	last   string          // id of the last transaction, empty without one
	synced chan struct{}
	once   sync.Once
}

// NewCache returns an empty cache of columns of tables; a table without columns has all of them. changed is called with the changes of
// each transaction, once, after Snapshot has them; changes during a gap are one call. It may be nil, and must not call Follow.
func NewCache(database string, columns map[string][]string, changed func([]Change)) *Cache {
	return &Cache{database: database, columns: columns, changed: changed, tables: contents{}, shared: map[string]bool{},
		synced: make(chan struct{})}
}

// Synced is closed when the cache has its first contents.
func (c *Cache) Synced() <-chan struct{} { return c.synced }

// Follow keeps the cache up to date until the connection or the context ends; the error says why. It is a Session's Serve.
func (c *Cache) Follow(ctx context.Context, client *Client) error {
	c.following.Lock()
	defer c.following.Unlock()
	if err := c.learn(ctx, client); err != nil {
		return err
	}
	var id string
	var q *updateQueue
	for _, m := range []func(context.Context, *Client, string) error{c.since, c.cond, c.basic} {
		var err error
		if id, q, err = client.subscribe(); err != nil {
			return err
		}
		defer client.unsubscribe(id)
		if err = m(ctx, client, id); err == nil {
			break
		}
		if !unknownMethod(err) {
			return err
		}
		q = nil
	}
	if q == nil {
		return errors.New("the ovsdb server has no method to monitor a database")
	}
	c.once.Do(func() { close(c.synced) })
	for {
		updates, more := q.take(ctx)
		if !more {
			return errors.Join(ctx.Err(), client.Err())
		}
		for _, u := range updates {
			if err := c.update(u); err != nil {
				return c.doubt(err)
			}
		}
	}
}

// learn reads the schema. After a conversion of the database differences to earlier transactions may not be readable.
func (c *Cache) learn(ctx context.Context, client *Client) error {
	schema, err := client.Schema(ctx, c.database)
	if err != nil {
		return err
	}
	present, err := schema.shape(c.columns)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(c.shape, present) {
		c.shape = present
		c.store(nil, "")
	}
	return nil
}

// Schema returns the server's schema of a database.
func (c *Client) Schema(ctx context.Context, database string) (Schema, error) {
	var s Schema
	_, err := c.call(ctx, "get_schema", []any{database}, &s)
	return s, err
}

func unknownMethod(err error) bool {
	var refusal *ServerError
	return errors.As(err, &refusal) && strings.Contains(refusal.Reason, "unknown method")
}

// doubt makes the next connection compare everything, as the contents may differ from the server's.
func (c *Cache) doubt(err error) error {
	c.store(nil, "")
	return fmt.Errorf("ovsdb %s: %w", c.database, err)
}

// requests are the tables and columns of a monitor.
func (c *Cache) requests() map[string]any {
	out := map[string]any{}
	for table, columns := range c.shape {
		names := make([]string, 0, len(columns))
		for name := range columns {
			if name != "_uuid" { // every row has it
				names = append(names, name)
			}
		}
		out[table] = []any{map[string]any{"columns": names}}
	}
	return out
}

func (c *Cache) since(ctx context.Context, client *Client, id string) error {
	last := c.last
	if last == "" {
		last = string(zeroUUID)
	}
	var reply []json.RawMessage
	if _, err := client.call(ctx, "monitor_cond_since", []any{c.database, id, c.requests(), last}, &reply); err != nil {
		return err
	}
	var found bool
	if len(reply) != 3 || json.Unmarshal(reply[0], &found) != nil || json.Unmarshal(reply[1], &last) != nil {
		return errors.New("ovsdb monitor_cond_since: the reply is not a flag, a transaction id and updates")
	}
	if !found {
		return c.replace(reply[2], c.shape.conditional, last)
	}
	return c.advance(reply[2], c.shape.conditional, last)
}

func (c *Cache) cond(ctx context.Context, client *Client, id string) error {
	var reply json.RawMessage
	if _, err := client.call(ctx, "monitor_cond", []any{c.database, id, c.requests()}, &reply); err != nil {
		return err
	}
	return c.replace(reply, c.shape.conditional, "")
}

func (c *Cache) basic(ctx context.Context, client *Client, id string) error {
	var reply json.RawMessage
	if _, err := client.call(ctx, "monitor", []any{c.database, id, c.requests()}, &reply); err != nil {
		return err
	}
	return c.replace(reply, c.shape.plain, "")
}

// reader reads updates that follow present contents.
type reader func(raw json.RawMessage, present contents) ([]Change, error)

// replace takes complete contents.
func (c *Cache) replace(raw json.RawMessage, read reader, last string) error {
	all, err := read(raw, nil)
	if err != nil {
		return c.doubt(err)
	}
	after := contents{}
	for _, change := range all {
		if after[change.Table] == nil {
			after[change.Table] = map[UUID]Row{}
		}
		after[change.Table][change.UUID] = change.New
	}
	c.publish(compare(c.tables, after), last)
	return nil
}

// advance takes updates of the present contents.
func (c *Cache) advance(raw json.RawMessage, read reader, last string) error {
	all, err := read(raw, c.tables)
	if err != nil {
		return c.doubt(err)
	}
	c.publish(all, last)
	return nil
}

// update takes one notification.
func (c *Cache) update(u update) error {
	switch u.method {
	case "update":
		return c.advance(u.params[0], c.shape.plain, "")
	case "update2":
		return c.advance(u.params[0], c.shape.conditional, "")
	}
	var last string
	if len(u.params) != 2 || json.Unmarshal(u.params[0], &last) != nil {
		return errors.New("update3 without a transaction id and updates")
	}
	return c.advance(u.params[1], c.shape.conditional, last)
}

func (c *Cache) publish(all []Change, last string) {
	c.store(all, last)
	if len(all) > 0 && c.changed != nil {
		c.changed(all)
	}
}
