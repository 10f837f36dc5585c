package northbound

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// Database is the name of the northbound database.
const Database = "OVN_Northbound"

// Fill reconciles the northbound database at a Unix socket with Rows once, and triggers ovn-northd. It is for tools and tests; the master keeps a connection.
func Fill(ctx context.Context, socket string, in Input) error {
	client, err := ovsdb.Dial(ctx, socket)
	if err != nil {
		return fmt.Errorf("connect to the northbound database: %w", err)
	}
	defer func() { _ = client.Close() }() // all requests have completed
	schema, have, err := ovsdb.Load(ctx, client, Database, Tables())
	if err != nil {
		return err
	}
	rows, _ := Rows(in)
	operations, err := ovsdb.Plan(schema, Owner, rows, have)
	if err != nil {
		return err
	}
	for retried := false; ; retried = true {
		results, err := client.Transact(ctx, Database, ovsdb.Select("NB_Global", []string{"_uuid"}))
		if err != nil {
			return fmt.Errorf("read the northbound database: %w", err)
		}
		exists := len(results[0].Rows) > 0
		_, err = client.Transact(ctx, Database, append(slices.Clone(operations), Global(exists)...)...)
		var refused *ovsdb.OperationError
		if !exists && !retried && errors.As(err, &refused) && refused.Code == "constraint violation" {
			continue // ovn-northd has just inserted the row of the table
		}
		if err != nil {
			return fmt.Errorf("write the northbound database: %w", err)
		}
		return nil
	}
}

// Global returns the operations that set the options in the row of NB_Global and increment nb_cfg, which ovn-northd copies to sb_cfg when the southbound
// database is up to date. exists reports whether the row exists: the first client creates it.
func Global(exists bool) []ovsdb.Operation {
	const table = "NB_Global"
	options, keys := ovsdb.Map{}, ovsdb.Set{}
	for _, key := range slices.Sorted(maps.Keys(Options())) {
		options[key] = Options()[key]
		keys = append(keys, key)
	}
	if !exists {
		return []ovsdb.Operation{ovsdb.Insert(table, "", map[string]any{"options": options, "nb_cfg": 1})}
	}
	return []ovsdb.Operation{
		ovsdb.Mutate(table, "options", "delete", keys), // insert does not replace values
		ovsdb.Mutate(table, "options", "insert", options),
		Count(),
	}
}

// Count returns the operation that increments nb_cfg.
func Count() ovsdb.Operation { return ovsdb.Mutate("NB_Global", "nb_cfg", "+=", 1) }
