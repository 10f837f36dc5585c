package nmconn

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func (i *iface) writeOVSBridge(k keyfile) {
	k.section("ovs-bridge")
	if i.OVSBridge == nil || i.OVSBridge.Options == nil {
		return
	}
	o := i.OVSBridge.Options
	if o.STP != nil {
		k.set("ovs-bridge", "stp-enable", o.STP.Enabled)
	}
	k.set("ovs-bridge", "rstp-enable", o.RSTP)
	k.set("ovs-bridge", "mcast-snooping-enable", o.MCastSnoopingEnable)
	k.set("ovs-bridge", "fail-mode", o.FailMode)
	k.set("ovs-bridge", "datapath-type", o.Datapath)
}

// ovsPortProfiles returns the profiles of the ports of a bridge, sorted by name.
func (i *iface) ovsPortProfiles() []profile {
	if i.OVSBridge == nil {
		return nil
	}
	ports := slices.SortedStableFunc(slices.Values(i.OVSBridge.Port), func(a, b nmstate.OVSPort) int {
		return cmp.Compare(a.Name, b.Name)
	})
	var out []profile
	for _, p := range ports {
		k := keyfile{}
		id := p.Name + "-port"
		connection(k, id, "ovs-port", uuid("ovs-port", p.Name))
		k.set("connection", "interface-name", p.Name)
		k.set("connection", "master", i.Name)
		k.set("connection", "slave-type", "ovs-bridge")
		if !i.Up() {
			k.set("connection", "autoconnect", false)
		}
		k.section("ovs-port")
		writeOVSBond(k, p.Bond)
		if v := p.VLAN; v != nil {
			k.set("ovs-port", "tag", v.Tag)
			k.set("ovs-port", "vlan-mode", v.Mode)
			k.set("ovs-port", "trunks", strings.Join(trunks(v.TrunkTags), ","))
		}
		out = append(out, profile{id, k})
	}
	return out
}

func writeOVSBond(k keyfile, b *nmstate.OVSBond) {
	if b == nil {
		return
	}
	switch b.Mode {
	case "lacp":
		k.set("ovs-port", "lacp", "active")
	case "balance-tcp":
		k.set("ovs-port", "lacp", "active")
		k.set("ovs-port", "bond-mode", b.Mode)
	case "active-backup", "balance-slb":
		k.set("ovs-port", "lacp", "off")
		k.set("ovs-port", "bond-mode", b.Mode)
	}
	k.set("ovs-port", "bond-updelay", b.BondUpDelay)
	k.set("ovs-port", "bond-downdelay", b.BondDownDelay)
	if b.OVSDB != nil {
		writePairs(k, b.OVSDB)
	}
}

func (i *iface) writeOVSInterface(k keyfile) {
	switch {
	case i.Patch != nil:
		k.set("ovs-interface", "type", "patch")
		k.set("ovs-patch", "peer", i.Patch.Peer)
	case i.DPDK != nil && i.DPDK.DevArgs != "":
		k.set("ovs-interface", "type", "dpdk")
		k.set("ovs-dpdk", "devargs", i.DPDK.DevArgs)
		k.set("ovs-dpdk", "n-rxq", i.DPDK.RXQueue)
		k.set("ovs-dpdk", "n-rxq-desc", i.DPDK.NRXQDesc)
		k.set("ovs-dpdk", "n-txq-desc", i.DPDK.NTXQDesc)
	default:
		k.set("ovs-interface", "type", "internal")
	}
}

// writePairs writes keys of Open vSwitch's database. It omits keys to delete.
func writePairs(k keyfile, p *nmstate.OVSPairs) {
	for section, pairs := range map[string]nmstate.Pairs{"ovs-external-ids": p.ExternalIDs, "ovs-other-config": p.OtherConfig} {
		for key, v := range pairs {
			if v != nil {
				k.set(section, "data."+key, *v)
			}
		}
	}
}
