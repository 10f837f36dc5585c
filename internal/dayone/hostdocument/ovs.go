package hostdocument

import (
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func ovsBridgeOf(b livestate.Bridge) nmstate.Interface {
	bridge := &nmstate.OVSBridge{Options: ovsOptionsOf(b)}
	for _, port := range b.Ports {
		if strings.HasPrefix(port.Name, "patch-") {
			continue // OVN's
		}
		out := nmstate.OVSPort{Name: port.Name, VLAN: portVLANOf(port)}
		if len(port.Interfaces) > 1 {
			out.Bond = &nmstate.OVSBond{Mode: port.BondMode}
			for _, member := range port.Interfaces {
				out.Bond.Port = append(out.Bond.Port, nmstate.OVSBondPort{Name: member.Name})
			}
		}
		bridge.Port = append(bridge.Port, out)
	}
	out := nmstate.Interface{Name: b.Name, Type: nmstate.TypeOVSBridge, State: nmstate.StateUp, OVSBridge: bridge}
	if uplink, ok := b.ExternalIDs[uplinkKey]; ok {
		out.OVSDB = &nmstate.OVSPairs{ExternalIDs: nmstate.Pairs{uplinkKey: &uplink}}
	}
	return out
}

// uplinkKey is the key with the uplink port of a bridge, which OVN reads. OVN itself sets the other keys.
const uplinkKey = "bridge-uplink"

// ovsOptionsOf returns the options that differ from Open vSwitch's defaults; nil if none does.
func ovsOptionsOf(b livestate.Bridge) *nmstate.OVSBridgeOptions {
	options := nmstate.OVSBridgeOptions{FailMode: b.FailMode}
	if b.Datapath != "system" {
		options.Datapath = b.Datapath
	}
	if b.STP {
		options.STP = &nmstate.OVSSTP{Enabled: yes()}
	}
	if b.RSTP {
		options.RSTP = yes()
	}
	if b.McastSnooping {
		options.MCastSnoopingEnable = yes()
	}
	if options == (nmstate.OVSBridgeOptions{}) {
		return nil
	}
	return &options
}

func portVLANOf(p livestate.BridgePort) *nmstate.PortVLAN {
	if p.Tag == nil && len(p.Trunks) == 0 && p.VLANMode == "" {
		return nil
	}
	vlan := &nmstate.PortVLAN{Mode: "access"}
	if p.Tag != nil {
		tag := uint16(*p.Tag)
		vlan.Tag = &tag
	}
	if len(p.Trunks) == 0 {
		return vlan
	}
	vlan.Mode = "trunk"
	if vlan.Tag != nil {
		vlan.EnableNative = yes()
	}
	for _, id := range p.Trunks {
		number := uint16(id)
		vlan.TrunkTags = append(vlan.TrunkTags, nmstate.TrunkTag{ID: &number})
	}
	return vlan
}

// internal reports whether Open vSwitch created an interface.
func internal(s livestate.State, name string) bool {
	for _, b := range s.OVS {
		for _, p := range b.Ports {
			if slices.ContainsFunc(p.Interfaces, func(i livestate.BridgeInterface) bool { return i.Name == name && i.Type == "internal" }) {
				return true
			}
		}
	}
	return false
}
