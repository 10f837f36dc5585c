package master

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// Tables with a row for each node.
const (
	chassisTable = "Chassis"
	privateTable = "Chassis_Private"
)

// bindingTable has a row for each logical port, with the chassis that has it.
const bindingTable = "Port_Binding"

// registered are the nodes in the southbound database.
type registered struct {
	// chassis are the rows of both tables. encaps are the names of chassis by tunnel address.
	chassis []chassisRow
	encaps  map[string]string
}

type chassisRow struct {
	table, name string
	id          ovsdb.UUID
}

// registeredOf returns the registered nodes from the rows of both tables and of the tunnel addresses.
func registeredOf(chassis, private, encaps []ovsdb.Row) registered {
	r := registered{encaps: map[string]string{}}
	for _, row := range chassis {
		r.chassis = append(r.chassis, chassisRow{chassisTable, row.Text("name"), row.UUID("_uuid")})
	}
	for _, row := range private {
		r.chassis = append(r.chassis, chassisRow{privateTable, row.Text("name"), row.UUID("_uuid")})
	}
	for _, row := range encaps {
		r.encaps[row.Text("ip")] = row.Text("chassis_name")
	}
	return r
}

// compareChassis returns the rows of nodes that do not exist, and the nodes with a tunnel address that have no chassis. Two chassis cannot have the same
// address; ovn-controller decides which node has it.
func compareChassis(r registered, nodes map[string]netip.Addr) (stale []chassisRow, missing []string) {
	present, taken := map[string]bool{}, map[string]bool{}
	for _, row := range r.chassis {
		if _, exists := nodes[row.name]; !exists {
			stale = append(stale, row)
		} else if row.table == chassisTable {
			present[row.name] = true
		}
	}
	for ip, name := range r.encaps {
		taken[ip] = present[name]
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		address := nodes[name]
		if present[name] || !address.IsValid() || taken[address.String()] {
			continue
		}
		taken[address.String()] = true
		missing = append(missing, name)
	}
	return stale, missing
}

// unbound returns the rows of the ports that no chassis has, by the node on which their pod runs.
func unbound(bindings []ovsdb.Row) map[string][]ovsdb.UUID {
	out := map[string][]ovsdb.UUID{}
	for _, row := range bindings {
		if node := row.Map("options")["requested-chassis"]; node != "" && len(row.UUIDs("chassis")) == 0 {
			out[node] = append(out[node], row.UUID("_uuid"))
		}
	}
	return out
}
