package ovsbridge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// tables are the rows that matter, as they were read in one transaction.
type tables struct {
	root       ovsdb.Row
	bridges    []ovsdb.Row
	ports      map[ovsdb.UUID]ovsdb.Row
	interfaces map[ovsdb.UUID]ovsdb.Row
}

func read(ctx context.Context, c *ovsdb.Client) (tables, error) {
	results, err := c.Transact(ctx, database,
		ovsdb.Select("Open_vSwitch", []string{"_uuid", "external_ids", "other_config"}),
		ovsdb.Select("Bridge", []string{"_uuid", "name", "ports", "datapath_type", "fail_mode", "stp_enable", "rstp_enable",
			"mcast_snooping_enable", "external_ids", "other_config"}),
		ovsdb.Select("Port", []string{"_uuid", "name", "interfaces", "tag", "vlan_mode", "trunks", "bond_mode", "lacp",
			"bond_updelay", "bond_downdelay", "external_ids", "other_config"}),
		ovsdb.Select("Interface", []string{"_uuid", "name", "type", "mac", "mtu_request", "options", "external_ids", "other_config", "error"}))
	if err != nil {
		return tables{}, fmt.Errorf("read the bridges of open vswitch: %w", err)
	}
	if len(results[0].Rows) == 0 {
		return tables{}, fmt.Errorf("%w: its database is not initialized", ErrAbsent)
	}
	return tables{
		root: results[0].Rows[0], bridges: results[1].Rows,
		ports: byUUID(results[2].Rows), interfaces: byUUID(results[3].Rows),
	}, nil
}

func byUUID(rows []ovsdb.Row) map[ovsdb.UUID]ovsdb.Row {
	out := make(map[ovsdb.UUID]ovsdb.Row, len(rows))
	for _, r := range rows {
		out[r.UUID("_uuid")] = r
	}
	return out
}

func (t tables) contents() Contents {
	c := Contents{
		Bridges: []livestate.Bridge{},
		Switch:  livestate.Switch{ExternalIDs: t.root.Map("external_ids"), OtherConfig: t.root.Map("other_config")},
	}
	for _, row := range t.bridges {
		c.Bridges = append(c.Bridges, t.bridge(row))
	}
	slices.SortFunc(c.Bridges, func(a, b livestate.Bridge) int { return strings.Compare(a.Name, b.Name) })
	return c
}

func (t tables) bridge(row ovsdb.Row) livestate.Bridge {
	b := livestate.Bridge{
		Name: row.Text("name"), Datapath: row.Text("datapath_type"), FailMode: row.Text("fail_mode"),
		STP: row.Bool("stp_enable"), RSTP: row.Bool("rstp_enable"), McastSnooping: row.Bool("mcast_snooping_enable"),
		ExternalIDs: row.Map("external_ids"), OtherConfig: row.Map("other_config"),
	}
	for _, id := range row.UUIDs("ports") {
		b.Ports = append(b.Ports, t.port(t.ports[id]))
	}
	slices.SortFunc(b.Ports, func(a, b livestate.BridgePort) int { return strings.Compare(a.Name, b.Name) })
	return b
}

func (t tables) port(row ovsdb.Row) livestate.BridgePort {
	p := livestate.BridgePort{
		Name: row.Text("name"), VLANMode: row.Text("vlan_mode"), Trunks: row.Ints("trunks"),
		BondMode: row.Text("bond_mode"), LACP: row.Text("lacp"),
		UpDelay: row.Int("bond_updelay"), DownDelay: row.Int("bond_downdelay"),
		ExternalIDs: row.Map("external_ids"), OtherConfig: row.Map("other_config"),
	}
	if tags := row.Ints("tag"); len(tags) > 0 {
		p.Tag = &tags[0]
	}
	for _, id := range row.UUIDs("interfaces") {
		i := t.interfaces[id]
		p.Interfaces = append(p.Interfaces, livestate.BridgeInterface{
			Name: i.Text("name"), Type: strings.TrimPrefix(i.Text("type"), "system"), MAC: i.Text("mac"), MTU: i.Int("mtu_request"),
			Options: i.Map("options"), ExternalIDs: i.Map("external_ids"), OtherConfig: i.Map("other_config"), Error: i.Text("error"),
		})
	}
	slices.SortFunc(p.Interfaces, func(a, b livestate.BridgeInterface) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// named returns the row of a name, or nil.
func named(rows map[ovsdb.UUID]ovsdb.Row, name string) ovsdb.Row {
	for _, r := range rows {
		if r.Text("name") == name {
			return r
		}
	}
	return nil
}

func (t tables) bridgeNamed(name string) ovsdb.Row {
	for _, r := range t.bridges {
		if r.Text("name") == name {
			return r
		}
	}
	return nil
}
