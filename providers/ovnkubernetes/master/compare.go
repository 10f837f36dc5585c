package master

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
)

// southView is the content of the southbound database that depends on the northbound database and on nodes.
type southView struct {
	registered
	// bindings are the rows of logical ports. datapaths are the names of switches and routers.
	bindings  []binding
	datapaths []string
}

// binding is a logical port with the name of its chassis; empty if no chassis has it.
type binding struct {
	port, chassis string
	up            bool
}

// southTables returns the columns of a southView.
func southTables() map[string][]string {
	return map[string][]string{
		chassisTable: {"name"}, privateTable: {"name"}, "Encap": {"ip", "chassis_name"},
		"Port_Binding": {"logical_port", "chassis", "up"}, "Datapath_Binding": {"external_ids"},
	}
}

func southViewOf(live ovsdb.Snapshot) southView {
	rows := func(table string) (out []ovsdb.Row) {
		for _, row := range live.Rows(table) {
			out = append(out, row)
		}
		return out
	}
	v := southView{registered: registeredOf(rows(chassisTable), rows(privateTable), rows("Encap"))}
	for _, row := range rows("Port_Binding") {
		b := binding{port: row.Text("logical_port"), up: row.Bool("up")}
		if id := row.UUID("chassis"); id != "" {
			b.chassis = live.Row(chassisTable, id).Text("name")
		}
		v.bindings = append(v.bindings, b)
	}
	for _, row := range rows("Datapath_Binding") {
		v.datapaths = append(v.datapaths, row.Map("external_ids")["name"])
	}
	return v
}

// compareNorth returns the differences of the northbound database as findings.
func compareNorth(differences []ovsdb.Difference) []finding.Finding {
	var out []finding.Finding
	for _, d := range differences {
		f := finding.Finding{Kind: finding.Stale, Place: finding.Northbound, Object: northbound.ObjectOf(d.Ref), What: "row " + d.Ref.String()}
		switch d.Kind {
		case ovsdb.Missing:
			f.Kind = finding.Missing
		case ovsdb.Changed:
			f.Kind, f.Detail = finding.Different, "other values are desired of "+strings.Join(d.Columns, ", ")
		case ovsdb.Duplicate:
			f.Detail = fmt.Sprintf("row %s has the same key as another one", d.UUID)
		case ovsdb.Stale:
		}
		out = append(out, f)
	}
	return out
}

// compareSouth compares the southbound database with the rows of the northbound database, with nodes and their tunnel addresses, and with the logical ports
// that must be connected, by node.
func compareSouth(rows []ovsdb.Desired, nodes map[string]netip.Addr, connected map[string]string, v southView) []finding.Finding {
	var out []finding.Finding
	add := func(kind finding.Kind, place finding.Place, object, what, detail string) {
		out = append(out, finding.Finding{Kind: kind, Place: place, Object: object, What: what, Detail: detail})
	}
	stale, missing := compareChassis(v.registered, nodes)
	for _, r := range stale {
		add(finding.Stale, finding.Chassis, "node "+r.name, fmt.Sprintf("row %s %q", r.table, r.name), "")
	}
	for _, name := range missing {
		add(finding.Missing, finding.Chassis, "node "+name, fmt.Sprintf("row %s %q", chassisTable, name), "")
	}
	ports, datapaths := northbound.LogicalPorts(rows)
	var bound []string
	for _, b := range v.bindings {
		bound = append(bound, b.port)
	}
	for kind, names := range diffNames(ports, bound) {
		for _, name := range names {
			add(kind, finding.Southbound, northbound.PortObject(name), fmt.Sprintf("row Port_Binding %q", name), "")
		}
	}
	for kind, names := range diffNames(datapaths, v.datapaths) {
		for _, name := range names {
			add(kind, finding.Southbound, "switch or router "+name, fmt.Sprintf("row Datapath_Binding %q", name), "")
		}
	}
	for _, b := range v.bindings {
		node, required := connected[b.port]
		what := fmt.Sprintf("the binding of port %q", b.port)
		switch {
		case !required:
		case b.chassis == "":
			add(finding.Missing, finding.Bindings, northbound.PortObject(b.port), what, "no node has the port; node "+node+" should")
		case b.chassis != node:
			add(finding.Different, finding.Bindings, northbound.PortObject(b.port), what, "node "+b.chassis+" has the port; node "+node+" should")
		case !b.up:
			add(finding.Different, finding.Bindings, northbound.PortObject(b.port), what, "node "+node+" has the port, but has not installed its flows")
		}
	}
	return out
}

// diffNames returns the desired names that do not exist, and the existing ones that are not desired.
func diffNames(desired, live []string) map[finding.Kind][]string {
	without := func(from, of []string) []string {
		known := map[string]bool{}
		for _, name := range of {
			known[name] = true
		}
		return slices.DeleteFunc(slices.Clone(from), func(name string) bool { return known[name] })
	}
	return map[finding.Kind][]string{finding.Missing: without(desired, live), finding.Stale: without(live, desired)}
}
