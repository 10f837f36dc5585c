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

// Cache caches the rows of some tables of a database over several connections. On a new connection it fetches the changes since the last known
// transaction, or all rows if the server does not know that transaction.
type Cache struct {
	database string
	columns  map[string][]string
	changed  func([]Change)

	watching sync.Mutex // held by Watch; guards shape, and allows Watch to read tables without mu
	shape    shape

	mu     sync.Mutex // guards the following fields, which only Watch writes
	tables contents
	shared map[string]bool // tables that snapshots share
	last   string          // id of the last transaction, empty without one
	synced chan struct{}
	once   sync.Once
}

// NewCache returns an empty cache of columns of tables; a table without columns has all of them. changed is called with the changes of each transaction,
// after Snapshot includes them; changes between two connections are one call. It may be nil, and must not call Watch.
func NewCache(database string, columns map[string][]string, changed func([]Change)) *Cache {
	return &Cache{database: database, columns: columns, changed: changed, tables: contents{}, shared: map[string]bool{},
		synced: make(chan struct{})}
}

// Synced is closed when the cache is synced for the first time.
func (c *Cache) Synced() <-chan struct{} { return c.synced }

// Watch keeps the cache up to date until the connection or the context ends; the error has the reason. It is a Session's Serve.
func (c *Cache) Watch(ctx context.Context, client *Client) error {
	c.watching.Lock()
	defer c.watching.Unlock()
	if err := c.loadSchema(ctx, client); err != nil {
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
				return c.invalidate(err)
			}
		}
	}
}

// loadSchema reads the schema. If it has changed, the next monitor fetches all rows, since differences to earlier transactions may be unreadable.
func (c *Cache) loadSchema(ctx context.Context, client *Client) error {
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

// invalidate makes the next connection fetch all rows, because the contents may differ from the server's.
func (c *Cache) invalidate(err error) error {
	c.store(nil, "")
	return fmt.Errorf("ovsdb %s: %w", c.database, err)
}

// requests returns the tables and columns of a monitor.
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

// reader reads updates relative to the present contents.
type reader func(raw json.RawMessage, present contents) ([]Change, error)

// replace sets the complete contents.
func (c *Cache) replace(raw json.RawMessage, read reader, last string) error {
	all, err := read(raw, nil)
	if err != nil {
		return c.invalidate(err)
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

// advance applies updates to the present contents.
func (c *Cache) advance(raw json.RawMessage, read reader, last string) error {
	all, err := read(raw, c.tables)
	if err != nil {
		return c.invalidate(err)
	}
	c.publish(all, last)
	return nil
}

// update applies one notification.
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
