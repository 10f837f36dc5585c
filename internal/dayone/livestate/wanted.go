package livestate

import (
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// BridgeWanted returns the Open vSwitch bridge of a document's interface, with its ports and their interfaces. Interfaces of type ovs-interface are internal or
// patch interfaces; others are devices of the kernel.
func BridgeWanted(i *nmstate.Interface, doc *nmstate.Document) Bridge {
	b := Bridge{Name: i.Name}
	b.ExternalIDs, b.OtherConfig = values(i.OVSDB)
	b.Drop = unset(i.OVSDB)
	if i.OVSBridge == nil {
		return b
	}
	if o := i.OVSBridge.Options; o != nil {
		b.Datapath, b.FailMode = o.Datapath, o.FailMode
		b.STP = o.STP != nil && nmstate.Is(o.STP.Enabled)
		b.RSTP, b.McastSnooping = nmstate.Is(o.RSTP), nmstate.Is(o.MCastSnoopingEnable)
	}
	for _, p := range i.OVSBridge.Port {
		port := portWanted(p)
		for _, name := range p.Members() {
			port.Interfaces = append(port.Interfaces, interfaceWanted(name, i.Name, doc))
		}
		b.Ports = append(b.Ports, port)
	}
	return b
}

func portWanted(p nmstate.OVSPort) BridgePort {
	port := BridgePort{Name: p.Name}
	if v := p.VLAN; v != nil {
		port.vlan(v)
	}
	if bond := p.Bond; bond != nil {
		port.BondMode, port.LACP = bond.Mode, "off"
		switch bond.Mode {
		case "lacp": // balances as Open vSwitch does by default
			port.BondMode, port.LACP = "", "active"
		case "balance-tcp":
			port.LACP = "active"
		}
		if bond.BondUpDelay != nil {
			port.UpDelay = int(*bond.BondUpDelay)
		}
		if bond.BondDownDelay != nil {
			port.DownDelay = int(*bond.BondDownDelay)
		}
		port.ExternalIDs, port.OtherConfig = values(bond.OVSDB)
	}
	return port
}

func (p *BridgePort) vlan(v *nmstate.PortVLAN) {
	if v.Tag != nil {
		tag := int(*v.Tag)
		p.Tag = &tag
	}
	for _, t := range v.TrunkTags {
		first, last := t.Range()
		for id := int(first); id <= int(last); id++ {
			p.Trunks = append(p.Trunks, id)
		}
	}
	switch {
	case v.Mode == "access":
		p.VLANMode = "access"
	case nmstate.Is(v.EnableNative):
		p.VLANMode = "native-untagged"
	case v.Mode == "trunk":
		p.VLANMode = "trunk"
	}
}

func interfaceWanted(name, bridge string, doc *nmstate.Document) BridgeInterface {
	out := BridgeInterface{Name: name}
	if name == bridge {
		out.Type = "internal"
	}
	for i := range doc.Interfaces {
		d := &doc.Interfaces[i]
		if d.Name != name || d.Kind() == nmstate.TypeOVSBridge {
			continue
		}
		out.ExternalIDs, out.OtherConfig = values(d.OVSDB)
		if d.Kind() != nmstate.TypeOVSInterface {
			continue
		}
		out.Type, out.MAC = "internal", strings.ToLower(d.MACAddress)
		if d.MTU != nil {
			out.MTU = int(*d.MTU)
		}
		switch {
		case d.Patch != nil:
			out.Type, out.Options = "patch", map[string]string{"peer": d.Patch.Peer}
		case d.DPDK != nil:
			out.Type, out.Options = "dpdk", dpdkOptions(d.DPDK)
		}
	}
	return out
}

func dpdkOptions(d *nmstate.DPDK) map[string]string {
	options := map[string]string{"dpdk-devargs": d.DevArgs}
	for key, n := range map[string]*uint32{"n_rxq": d.RXQueue, "n_rxq_desc": d.NRXQDesc, "n_txq_desc": d.NTXQDesc} {
		if n != nil && *n != 0 {
			options[key] = fmt.Sprint(*n)
		}
	}
	return options
}

// values returns the keys with a value.
func values(pairs *nmstate.OVSPairs) (external, other map[string]string) {
	if pairs == nil {
		return nil, nil
	}
	return set(pairs.ExternalIDs), set(pairs.OtherConfig)
}

// unset returns the keys to remove.
func unset(pairs *nmstate.OVSPairs) []string {
	var out []string
	if pairs != nil {
		for _, m := range []nmstate.Pairs{pairs.ExternalIDs, pairs.OtherConfig} {
			for k, v := range m {
				if v == nil {
					out = append(out, k)
				}
			}
		}
	}
	return out
}

func set(pairs nmstate.Pairs) map[string]string {
	var out map[string]string
	for k, v := range pairs {
		if v != nil {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = *v
		}
	}
	return out
}

// SwitchWanted returns the keys that a document sets for Open vSwitch as a whole, including OVN's bridge mappings; a nil value removes a key.
func SwitchWanted(doc *nmstate.Document) nmstate.OVSDatabase {
	var out nmstate.OVSDatabase
	if doc.OVSDB != nil {
		out = *doc.OVSDB
	}
	if doc.OVN == nil || len(doc.OVN.BridgeMappings) == 0 {
		return out
	}
	var mappings []string
	for _, m := range doc.OVN.BridgeMappings {
		if m.State != "absent" {
			mappings = append(mappings, m.Localnet+":"+m.Bridge)
		}
	}
	external := nmstate.Pairs{}
	for k, v := range out.ExternalIDs {
		external[k] = v
	}
	external["ovn-bridge-mappings"] = nil
	if text := strings.Join(mappings, ","); text != "" {
		external["ovn-bridge-mappings"] = &text
	}
	out.ExternalIDs = external
	return out
}
