package ovsdb

import (
	"iter"
	"maps"
)

// Snapshot is the contents of a Cache at one time. Its rows have all monitored columns and _uuid; they must not be modified.
type Snapshot struct{ tables contents }

// Row returns a row, nil if it does not exist.
func (s Snapshot) Row(table string, id UUID) Row { return s.tables.row(table, id) }

// Rows returns the rows of a table, in no particular order.
func (s Snapshot) Rows(table string) iter.Seq2[UUID, Row] { return maps.All(s.tables[table]) }

// Len returns the number of rows of a table.
func (s Snapshot) Len(table string) int { return len(s.tables[table]) }

// Snapshot returns the current contents. They are empty before Synced is closed.
func (c *Cache) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	for table := range c.tables {
		c.shared[table] = true
	}
	return Snapshot{tables: maps.Clone(c.tables)}
}

// store applies changes to the contents. It copies tables that snapshots share.
func (c *Cache) store(all []Change, last string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = last
	for _, change := range all {
		switch {
		case c.tables[change.Table] == nil:
			c.tables[change.Table] = map[UUID]Row{}
		case c.shared[change.Table]:
			c.tables[change.Table] = maps.Clone(c.tables[change.Table])
		}
		c.shared[change.Table] = false
		if change.New == nil {
			delete(c.tables[change.Table], change.UUID)
		} else {
			c.tables[change.Table][change.UUID] = change.New
		}
	}
}
