package ovsbridge

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// planner turns a change into the operations of one transaction. Rows that nothing refers to any more are removed by
// the server itself.
type planner struct {
	tables
	change Change
	ops    []ovsdb.Operation
	rows   int
}

// plan returns no operation if all is as wanted.
func (p *planner) plan() []ovsdb.Operation {
	for _, name := range p.change.Absent {
		if row := p.bridgeNamed(name); row != nil {
			p.ops = append(p.ops, ovsdb.Mutate("Open_vSwitch", "bridges", "delete", ovsdb.Set{row.UUID("_uuid")}))
		}
	}
	for _, want := range p.change.Bridges {
		p.bridge(want)
	}
	p.pairs("external_ids", p.change.Switch.ExternalIDs)
	p.pairs("other_config", p.change.Switch.OtherConfig)
	return p.ops
}

func (p *planner) bridge(want livestate.Bridge) {
	row := p.bridgeNamed(want.Name)
	var existing livestate.Bridge
	if row != nil {
		existing = p.tables.bridge(row)
		if !p.change.Exact {
			merge(&want, existing)
		}
	}
	localMAC(&want)
	if row != nil && equal(want, existing) {
		return
	}
	ports := ovsdb.Set{}
	for _, port := range want.Ports {
		ports = append(ports, p.port(port, want.Name))
	}
	columns := map[string]any{
		"datapath_type": want.Datapath, "fail_mode": optional(want.FailMode), "stp_enable": want.STP, "rstp_enable": want.RSTP,
		"mcast_snooping_enable": want.McastSnooping, "external_ids": ovsdb.Map(want.ExternalIDs), "other_config": ovsdb.Map(want.OtherConfig),
		"ports": ports,
	}
	if row != nil {
		p.ops = append(p.ops, ovsdb.Update("Bridge", columns, ovsdb.Is(row.UUID("_uuid"))))
		return
	}
	columns["name"] = want.Name
	name := p.name()
	p.ops = append(p.ops, ovsdb.Insert("Bridge", name, columns),
		ovsdb.Mutate("Open_vSwitch", "bridges", "insert", ovsdb.Set{ovsdb.Named(name)}))
}

// merge adds to a wanted bridge what others put on it.
func merge(want *livestate.Bridge, existing livestate.Bridge) {
	want.ExternalIDs = overlay(existing.ExternalIDs, want.ExternalIDs, want.Drop)
	want.OtherConfig = overlay(existing.OtherConfig, want.OtherConfig, want.Drop)
	want.Drop = nil
	for _, port := range existing.Ports {
		declared := slices.ContainsFunc(want.Ports, func(w livestate.BridgePort) bool { return w.Name == port.Name })
		if !declared && port.Patch() {
			want.Ports = append(want.Ports, port)
		}
	}
}

// localMAC puts the address of the bridge's own port where Open vSwitch looks for it: it ignores the port's.
func localMAC(b *livestate.Bridge) {
	for _, port := range b.Ports {
		for n := range port.Interfaces {
			i := &port.Interfaces[n]
			if i.Name == b.Name && i.MAC != "" {
				b.OtherConfig = overlay(b.OtherConfig, map[string]string{"hwaddr": i.MAC}, nil)
				i.MAC = ""
			}
		}
	}
}

// equal compares what the database would hold.
func equal(a, b livestate.Bridge) bool {
	for _, side := range []*livestate.Bridge{&a, &b} {
		side.Ports = slices.SortedFunc(slices.Values(side.Ports), func(x, y livestate.BridgePort) int { return strings.Compare(x.Name, y.Name) })
		for n := range side.Ports {
			port := &side.Ports[n]
			port.Interfaces = slices.SortedFunc(slices.Values(port.Interfaces), func(x, y livestate.BridgeInterface) int { return strings.Compare(x.Name, y.Name) })
			for m := range port.Interfaces {
				port.Interfaces[m].Error = ""
			}
		}
	}
	return reflect.DeepEqual(a, b)
}

// port returns what refers to the row of a port. One that has the same interfaces keeps its row and theirs, so that
// Open vSwitch keeps the device.
func (p *planner) port(want livestate.BridgePort, bridge string) any {
	row := named(p.ports, want.Name)
	if row != nil && interfaceSet(p.tables.port(row)) != interfaceSet(want) {
		row = nil
	}
	interfaces := ovsdb.Set{}
	for _, i := range want.Interfaces {
		interfaces = append(interfaces, p.iface(i, row))
	}
	columns := map[string]any{
		"interfaces": interfaces, "tag": optionalInt(want.Tag), "vlan_mode": optional(want.VLANMode), "trunks": numbers(want.Trunks),
		"bond_mode": optional(want.BondMode), "lacp": optional(want.LACP), "bond_updelay": want.UpDelay, "bond_downdelay": want.DownDelay,
		"external_ids": ovsdb.Map(want.ExternalIDs), "other_config": ovsdb.Map(want.OtherConfig),
	}
	p.takeAway(want, bridge)
	if row != nil {
		p.ops = append(p.ops, ovsdb.Update("Port", columns, ovsdb.Is(row.UUID("_uuid"))))
		return row.UUID("_uuid")
	}
	columns["name"] = want.Name
	name := p.name()
	p.ops = append(p.ops, ovsdb.Insert("Port", name, columns))
	return ovsdb.Named(name)
}

// takeAway removes from other bridges the ports that hold the same interfaces or have the same name.
func (p *planner) takeAway(want livestate.BridgePort, bridge string) {
	for _, b := range p.bridges {
		if b.Text("name") == bridge {
			continue // its ports are written whole
		}
		for _, id := range b.UUIDs("ports") {
			existing := p.tables.port(p.ports[id])
			shared := existing.Name == want.Name || slices.ContainsFunc(existing.Interfaces, func(h livestate.BridgeInterface) bool {
				return slices.ContainsFunc(want.Interfaces, func(w livestate.BridgeInterface) bool { return w.Name == h.Name })
			})
			if shared {
				p.ops = append(p.ops, ovsdb.Mutate("Bridge", "ports", "delete", ovsdb.Set{id}, ovsdb.Is(b.UUID("_uuid"))))
			}
		}
	}
}

func (p *planner) iface(want livestate.BridgeInterface, port ovsdb.Row) any {
	columns := map[string]any{
		"type": want.Type, "mac": optional(want.MAC), "mtu_request": ovsdb.Set{}, "options": ovsdb.Map(want.Options),
		"external_ids": ovsdb.Map(want.ExternalIDs), "other_config": ovsdb.Map(want.OtherConfig),
	}
	if want.MTU > 0 {
		columns["mtu_request"] = want.MTU
	}
	if port != nil {
		for _, id := range port.UUIDs("interfaces") {
			if p.interfaces[id].Text("name") == want.Name {
				if !p.change.Exact {
					columns["external_ids"] = ovsdb.Map(overlay(p.interfaces[id].Map("external_ids"), want.ExternalIDs, nil))
				}
				p.ops = append(p.ops, ovsdb.Update("Interface", columns, ovsdb.Is(id)))
				return id
			}
		}
	}
	columns["name"] = want.Name
	name := p.name()
	p.ops = append(p.ops, ovsdb.Insert("Interface", name, columns))
	return ovsdb.Named(name)
}

// pairs sets and removes keys of the whole switch.
func (p *planner) pairs(column string, wanted nmstate.Pairs) {
	existing := p.root.Map(column)
	next := maps.Clone(existing)
	for key, value := range wanted {
		if value == nil {
			delete(next, key)
		} else {
			next = overlay(next, map[string]string{key: *value}, nil)
		}
	}
	if !maps.Equal(existing, next) {
		p.ops = append(p.ops, ovsdb.Update("Open_vSwitch", map[string]any{column: ovsdb.Map(next)}))
	}
}

func (p *planner) name() string {
	p.rows++
	return fmt.Sprintf("row%d", p.rows)
}

// overlay returns a map with the keys of both, those of top first, without those to drop; nil if it is empty.
func overlay(bottom, top map[string]string, drop []string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, bottom)
	maps.Copy(out, top)
	for _, key := range drop {
		delete(out, key)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func interfaceSet(p livestate.BridgePort) string {
	var names []string
	for _, i := range p.Interfaces {
		names = append(names, i.Type+" "+i.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

func optional(s string) any {
	if s == "" {
		return ovsdb.Set{}
	}
	return s
}

func optionalInt(n *int) any {
	if n == nil {
		return ovsdb.Set{}
	}
	return *n
}

func numbers(all []int) ovsdb.Set {
	out := ovsdb.Set{}
	for _, n := range all {
		out = append(out, n)
	}
	return out
}
