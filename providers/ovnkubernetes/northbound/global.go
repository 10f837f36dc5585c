package northbound

import (
	"maps"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// Database is the name of the northbound database.
const Database = "OVN_Northbound"

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
