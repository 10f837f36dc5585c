package ovsdb

import (
	"context"
	"fmt"
)

// Load reads the schema and a snapshot of a database, with the columns of NewCache. The client must not be used otherwise.
func Load(ctx context.Context, client *Client, database string, columns map[string][]string) (Schema, Snapshot, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	schema, err := client.Schema(ctx, database)
	if err != nil {
		return schema, Snapshot{}, fmt.Errorf("read the schema of %s: %w", database, err)
	}
	cache := NewCache(database, columns, nil)
	ended := make(chan error, 1)
	go func() { ended <- cache.Watch(ctx, client) }()
	select {
	case <-cache.Synced():
		cancel()
		<-ended //nolint:errcheck // the error is that of cancel
		return schema, cache.Snapshot(), nil
	case err := <-ended:
		return schema, Snapshot{}, fmt.Errorf("read %s: %w", database, err)
	}
}
