package ovs

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// Export has the collectors of a bridge's flow records, by protocol. A protocol without collectors is disabled.
type Export struct {
	NetFlow, SFlow, IPFIX []netip.AddrPort
	// Agent is the address of the node in sFlow records.
	Agent netip.Addr
}

const (
	// exportTimeout is the interval in seconds between records of an active flow.
	exportTimeout = 60
	// exportSampling is the sampling rate of sFlow and IPFIX: one packet of this number.
	exportSampling = 400
)

// exporter is a protocol: the column of the bridge, and the table of its settings.
type exporter struct {
	column, table string
	collectors    []netip.AddrPort
	settings      map[string]any
}

func (e Export) exporters() []exporter {
	sflow := map[string]any{"sampling": exportSampling}
	if e.Agent.IsValid() {
		sflow["agent"] = e.Agent.String()
	}
	return []exporter{
		{"netflow", "NetFlow", e.NetFlow, map[string]any{"active_timeout": exportTimeout}},
		{"sflow", "sFlow", e.SFlow, sflow},
		{"ipfix", "IPFIX", e.IPFIX, map[string]any{"cache_active_timeout": exportTimeout, "sampling": exportSampling}},
	}
}

// EnsureExport sets the collectors of a bridge's flow records. It writes only differences. It fails if the bridge does not exist.
func (c Configuration) EnsureExport(ctx context.Context, bridge string, e Export) error {
	results, err := c.Client.Transact(ctx, database, ovsdb.Select("Bridge", []string{"netflow", "sflow", "ipfix"}, ovsdb.Equal("name", bridge)))
	if err != nil {
		return fmt.Errorf("read bridge %s: %w", bridge, err)
	}
	if len(results[0].Rows) == 0 {
		return fmt.Errorf("bridge %s does not exist", bridge)
	}
	row := results[0].Rows[0]
	var operations []ovsdb.Operation
	change := map[string]any{}
	for _, x := range e.exporters() {
		targets := ovsdb.Set{}
		for _, a := range x.collectors {
			targets = append(targets, a.String())
		}
		same, err := c.exports(ctx, x, row.UUIDs(x.column), targets)
		switch {
		case err != nil:
			return err
		case same:
		case len(targets) == 0:
			change[x.column] = ovsdb.Set{}
		default:
			x.settings["targets"] = targets
			operations = append(operations, ovsdb.Insert(x.table, x.column, x.settings))
			change[x.column] = ovsdb.Named(x.column)
		}
	}
	if len(change) == 0 {
		return nil
	}
	return c.commit(ctx, "the export of flow records of bridge "+bridge, append(operations, ovsdb.Update("Bridge", change, ovsdb.Equal("name", bridge))))
}

// exports reports whether a bridge with the given settings rows of a protocol sends its records to the targets.
func (c Configuration) exports(ctx context.Context, x exporter, rows []ovsdb.UUID, targets ovsdb.Set) (bool, error) {
	if len(rows) == 0 || len(targets) == 0 {
		return len(rows) == len(targets), nil
	}
	columns := []string{"targets"}
	if x.table == "sFlow" {
		columns = append(columns, "agent")
	}
	results, err := c.Client.Transact(ctx, database, ovsdb.Select(x.table, columns, ovsdb.Equal("_uuid", rows[0])))
	if err != nil {
		return false, fmt.Errorf("read the collectors of %s: %w", x.table, err)
	}
	if len(results[0].Rows) == 0 {
		return false, nil
	}
	var want []string
	for _, t := range targets {
		if text, ok := t.(string); ok {
			want = append(want, text)
		}
	}
	found := results[0].Rows[0].Strings("targets")
	slices.Sort(want)
	slices.Sort(found)
	agent, _ := x.settings["agent"].(string)
	return slices.Equal(want, found) && (x.table != "sFlow" || slices.Equal(results[0].Rows[0].Strings("agent"), texts(agent))), nil
}

// texts returns the value of an optional column: empty, or with one element.
func texts(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
