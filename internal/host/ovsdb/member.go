package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Servers describe their databases in the database _Server.
const (
	serverDatabase = "_Server"
	databaseTable  = "Database"
)

// admit checks that the server serves the database of the session, now and as long as the connection exists. It accepts servers that do not describe
// their databases.
func (s *Session) admit(ctx context.Context, c *Client, o Options) error {
	if s.Database == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	id, q, err := c.subscribe()
	if err != nil {
		return err
	}
	columns := []string{"name", "model", "connected", "leader", "cid", "index"}
	var rows Updates
	_, err = c.call(ctx, "monitor", []any{serverDatabase, id, map[string]any{databaseTable: map[string]any{"columns": columns}}}, &rows)
	if refusal := (*ServerError)(nil); errors.As(err, &refusal) {
		c.unsubscribe(id)
		return nil
	}
	if err != nil {
		return err
	}
	found := false
	for _, row := range rows[databaseTable] {
		if row.New.Text("name") == s.Database {
			found = true
			if err := s.suitable(row.New); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("the ovsdb server does not serve the database %s", s.Database)
	}
	return c.spawn(func() { s.supervise(c, q) })
}

// supervise ends the connection when the server is no longer suitable.
func (s *Session) supervise(c *Client, q *updateQueue) {
	for {
		updates, more := q.take(context.Background())
		if !more {
			return
		}
		for _, u := range updates {
			var rows Updates
			if err := json.Unmarshal(u.params[0], &rows); err != nil {
				c.fail(fmt.Errorf("read the state of the ovsdb server: %w", err))
				return
			}
			for _, row := range rows[databaseTable] {
				if row.New.Text("name") != s.Database {
					continue
				}
				if err := s.suitable(row.New); err != nil {
					c.fail(err)
					return
				}
			}
		}
	}
}

// suitable checks a state of the server's database, and records its index.
func (s *Session) suitable(row Row) error {
	if row.Text("model") != "clustered" {
		return nil
	}
	switch {
	case !row.Bool("connected"):
		return fmt.Errorf("the ovsdb server is not connected to the cluster of %s", s.Database)
	case s.LeaderOnly && !row.Bool("leader"):
		return fmt.Errorf("the ovsdb server is not the leader of %s", s.Database)
	}
	cluster, index := string(row.UUID("cid")), row.Int("index")
	s.mu.Lock()
	defer s.mu.Unlock()
	if index < s.indexes[cluster] {
		return fmt.Errorf("the ovsdb server has index %d of %s, the one before had %d", index, s.Database, s.indexes[cluster])
	}
	if s.indexes == nil {
		s.indexes = map[string]int{}
	}
	s.indexes[cluster] = index
	return nil
}
