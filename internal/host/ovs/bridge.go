package ovs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

const database = "Open_vSwitch"

// Bridge is a bridge.
type Bridge struct {
	Name string
	// Userspace is true for the userspace datapath.
	Userspace bool
	// Secure is true for the fail mode secure: the bridge drops all packets until a controller adds flows.
	Secure bool
}

// datapath returns the type of the bridge's datapath.
func (b Bridge) datapath() string {
	if b.Userspace {
		return "netdev"
	}
	return "system"
}

// Port is a port with one interface of the same name.
type Port struct {
	Name string
	// Type is the type of the interface: empty for one of the kernel, or geneve, vxlan, patch, internal.
	Type string
	// Number is the requested OpenFlow port number, which Open vSwitch uses if it is free; 0 requests none.
	Number uint32
	// Options and ExternalIDs are those of the interface. Controllers read external IDs such as iface-id.
	Options, ExternalIDs map[string]string
}

// Configuration changes the database of a node's Open vSwitch.
type Configuration struct{ Client *ovsdb.Client }

// Root is what a network sets in the root of the configuration. Other keys stay.
type Root struct{ ExternalIDs, Options map[string]string }

// OwnOptions returns the options of an Open vSwitch that only a network uses. By default it writes the statistics of all interfaces every five seconds, which no
// program of these networks reads; other clients of a host's Open vSwitch may.
func OwnOptions() map[string]string { return map[string]string{"stats-update-interval": "3600000"} }

func (r Root) columns() map[string]map[string]string {
	return map[string]map[string]string{"external_ids": r.ExternalIDs, "other_config": r.Options}
}

// Initialize creates the root row of the configuration, if it is missing, and merges a Root into it.
func (c Configuration) Initialize(ctx context.Context, want Root) error {
	root := ovsdb.Select("Open_vSwitch", []string{"external_ids", "other_config"})
	results, err := c.Client.Transact(ctx, database, root)
	if err != nil {
		return fmt.Errorf("read the configuration of open vswitch: %w", err)
	}
	row := map[string]any{}
	for name, values := range want.columns() {
		merged := map[string]string{}
		if len(results[0].Rows) > 0 {
			maps.Copy(merged, results[0].Rows[0].Map(name))
		}
		maps.Copy(merged, values)
		row[name] = ovsdb.Map(merged)
	}
	operation := ovsdb.Update("Open_vSwitch", row)
	if len(results[0].Rows) == 0 {
		operation = ovsdb.Insert("Open_vSwitch", "", row) // the table has at most one row: a concurrent insert fails
	}
	if _, err = c.Client.Transact(ctx, database, operation); err != nil {
		return fmt.Errorf("initialize the configuration of open vswitch: %w", err)
	}
	return nil
}

// EnsureBridge creates or updates a bridge with its local port, and waits until ovs-vswitchd has applied the change.
func (c Configuration) EnsureBridge(ctx context.Context, b Bridge) error {
	mode := "standalone"
	if b.Secure {
		mode = "secure"
	}
	settings := map[string]any{"datapath_type": b.datapath(), "fail_mode": mode}
	exists, err := c.exists(ctx, "Bridge", b.Name)
	if err != nil {
		return err
	}
	operations := []ovsdb.Operation{ovsdb.Update("Bridge", settings, ovsdb.Equal("name", b.Name))}
	if !exists {
		settings["name"], settings["ports"] = b.Name, ovsdb.Set{ovsdb.Named("p")}
		operations = []ovsdb.Operation{
			ovsdb.Insert("Interface", "i", map[string]any{"name": b.Name, "type": "internal"}),
			ovsdb.Insert("Port", "p", map[string]any{"name": b.Name, "interfaces": ovsdb.Named("i")}),
			ovsdb.Insert("Bridge", "b", settings),
			ovsdb.Mutate("Open_vSwitch", "bridges", "insert", ovsdb.Set{ovsdb.Named("b")}),
		}
	}
	return c.commit(ctx, "bridge "+b.Name, operations)
}

// DeleteBridge deletes a bridge with its ports. A missing bridge is no error.
func (c Configuration) DeleteBridge(ctx context.Context, name string) error {
	results, err := c.Client.Transact(ctx, database, ovsdb.Select("Bridge", []string{"_uuid"}, ovsdb.Equal("name", name)))
	if err != nil {
		return fmt.Errorf("read bridge %s: %w", name, err)
	}
	if len(results[0].Rows) == 0 {
		return nil
	}
	return c.commit(ctx, "bridge "+name, []ovsdb.Operation{
		ovsdb.Mutate("Open_vSwitch", "bridges", "delete", ovsdb.Set{results[0].Rows[0].UUID("_uuid")}),
	})
}

// EnsurePort creates or updates a port of a bridge, and waits until ovs-vswitchd has applied the change. It returns the error that ovs-vswitchd reports
// for the interface.
func (c Configuration) EnsurePort(ctx context.Context, bridge string, p Port) error {
	return c.ensurePort(ctx, bridge, p, nil)
}

// ensurePort is EnsurePort after other operations of the same transaction.
func (c Configuration) ensurePort(ctx context.Context, bridge string, p Port, first []ovsdb.Operation) error {
	exists, err := c.exists(ctx, "Port", p.Name)
	if err != nil {
		return err
	}
	settings := map[string]any{"type": p.Type, "options": ovsdb.Map(p.Options), "external_ids": ovsdb.Map(p.ExternalIDs)}
	if p.Number != 0 {
		settings["ofport_request"] = int(p.Number)
	}
	operations := []ovsdb.Operation{ovsdb.Update("Interface", settings, ovsdb.Equal("name", p.Name))}
	if !exists {
		settings["name"] = p.Name
		operations = []ovsdb.Operation{
			// Without the bridge, the server would remove the unreferenced port.
			ovsdb.Guard("Bridge", map[string]any{"name": bridge}, ovsdb.Equal("name", bridge)),
			ovsdb.Insert("Interface", "i", settings),
			ovsdb.Insert("Port", "p", map[string]any{"name": p.Name, "interfaces": ovsdb.Named("i")}),
			ovsdb.Mutate("Bridge", "ports", "insert", ovsdb.Set{ovsdb.Named("p")}, ovsdb.Equal("name", bridge)),
		}
	}
	if err := c.commit(ctx, "port "+p.Name, slices.Concat(first, operations)); err != nil {
		return err
	}
	results, err := c.Client.Transact(ctx, database, ovsdb.Select("Interface", []string{"error"}, ovsdb.Equal("name", p.Name)))
	if err != nil {
		return fmt.Errorf("read port %s: %w", p.Name, err)
	}
	if len(results[0].Rows) == 1 && results[0].Rows[0].Text("error") != "" {
		return fmt.Errorf("port %s: %s", p.Name, results[0].Rows[0].Text("error"))
	}
	return nil
}

// DeletePort deletes a port of a bridge. A missing port is no error.
func (c Configuration) DeletePort(ctx context.Context, bridge, port string) error {
	ids, err := c.portIDs(ctx, port)
	if err != nil || len(ids) == 0 {
		return err
	}
	return c.commit(ctx, "port "+port, []ovsdb.Operation{ovsdb.Mutate("Bridge", "ports", "delete", ids, ovsdb.Equal("name", bridge))})
}

// portIDs returns the row of a port, as a set; it is empty if there is none.
func (c Configuration) portIDs(ctx context.Context, name string) (ovsdb.Set, error) {
	results, err := c.Client.Transact(ctx, database, ovsdb.Select("Port", []string{"_uuid"}, ovsdb.Equal("name", name)))
	if err != nil {
		return nil, fmt.Errorf("read port %s: %w", name, err)
	}
	ids := ovsdb.Set{}
	for _, row := range results[0].Rows {
		ids = append(ids, row.UUID("_uuid"))
	}
	return ids, nil
}

func (c Configuration) exists(ctx context.Context, table, name string) (bool, error) {
	results, err := c.Client.Transact(ctx, database, ovsdb.Select(table, []string{"name"}, ovsdb.Equal("name", name)))
	if err != nil {
		return false, fmt.Errorf("read %s %s: %w", table, name, err)
	}
	return len(results[0].Rows) > 0, nil
}

// commit carries out operations, and waits until ovs-vswitchd has applied the configuration.
func (c Configuration) commit(ctx context.Context, what string, operations []ovsdb.Operation) error {
	n := len(operations)
	operations = append(operations, ovsdb.Mutate("Open_vSwitch", "next_cfg", "+=", 1), ovsdb.Select("Open_vSwitch", []string{"next_cfg"}))
	results, err := c.Client.Transact(ctx, database, operations...)
	if err != nil {
		return fmt.Errorf("configure %s: %w", what, err)
	}
	if len(results[n+1].Rows) == 0 {
		return errors.New("open vswitch is not initialized")
	}
	if err := c.awaitConfigured(ctx, results[n+1].Rows[0].Int("next_cfg")); err != nil {
		return fmt.Errorf("wait until ovs-vswitchd has configured %s: %w", what, err)
	}
	return nil
}

// awaitConfigured waits until ovs-vswitchd has applied a version of the configuration. The server answers when another version was applied: if each of many
// ADDs polled, it would have no time left for their ports.
func (c Configuration) awaitConfigured(ctx context.Context, version int) error {
	const column = "cur_cfg"
	applied := ovsdb.Select("Open_vSwitch", []string{column})
	operations := []ovsdb.Operation{applied}
	for {
		results, err := c.Client.Transact(ctx, database, operations...)
		if err != nil {
			return err
		}
		rows := results[len(results)-1].Rows
		if len(rows) == 0 {
			return errors.New("open vswitch is not initialized")
		}
		last := rows[0].Int(column)
		if last >= version {
			return nil
		}
		operations = []ovsdb.Operation{ovsdb.WaitWithoutTimeout("Open_vSwitch", []string{column}, "!=", []map[string]any{{column: last}}), applied}
	}
}
