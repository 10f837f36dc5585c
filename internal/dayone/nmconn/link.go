package nmconn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// writeEthernet writes the section 802-3-ethernet, which nearly all types of interfaces have.
func (i *iface) writeEthernet(k keyfile) {
	if i.Kind() == nmstate.TypeInfiniBand || i.Kind() == nmstate.TypeLoopback {
		return
	}
	switch {
	case i.Identifier == nmstate.IdentifierMAC:
		k.set("ethernet", "mac-address", i.mac)
	case !i.noMAC():
		k.set("ethernet", "cloned-mac-address", i.mac)
	}
	if !i.ovsBridge() {
		k.set("ethernet", "mtu", i.MTU)
	}
	if i.Type != nmstate.TypeVRF || nmstate.Is(i.AcceptAllMACAddresses) {
		k.set("ethernet", "accept-all-mac-addresses", digit(i.AcceptAllMACAddresses))
	}
	e := i.Ethernet
	if e == nil {
		return
	}
	if e.AutoNegotiation != nil {
		k.set("ethernet", "auto-negotiate", e.AutoNegotiation)
		if !*e.AutoNegotiation {
			k.set("ethernet", "speed", e.Speed)
			k.set("ethernet", "duplex", e.Duplex)
		}
	}
	writeSRIOV(k, e.SRIOV)
}

func writeSRIOV(k keyfile, s *nmstate.SRIOV) {
	if s == nil || s.TotalVFs != nil && *s.TotalVFs == 0 {
		return
	}
	k.section("sriov")
	k.set("sriov", "total-vfs", s.TotalVFs)
	k.set("sriov", "autoprobe-drivers", digit(s.DriversAutoprobe))
	for _, vf := range s.VFs {
		k.set("sriov", fmt.Sprintf("vf.%d", vf.ID), writeVF(vf))
	}
}

func writeVF(vf nmstate.VF) string {
	var parts []string
	add := func(key string, value any) {
		if text := format(value); text != "" {
			parts = append(parts, key+"="+text)
		}
	}
	add("mac", strings.ToUpper(vf.MACAddress))
	add("spoof-check", vf.SpoofCheck)
	add("trust", vf.Trust)
	add("min-tx-rate", vf.MinTXRate)
	add("max-tx-rate", vf.MaxTXRate)
	if vf.VLANID != nil {
		protocol := "q"
		if vf.VLANProto == "802.1ad" {
			protocol = "ad"
		}
		add("vlans", fmt.Sprintf("%d.%d.%s", *vf.VLANID, value(vf.QoS), protocol))
	}
	return strings.Join(parts, " ")
}

// writeKind writes the section of the interface's type.
func (i *iface) writeKind(k keyfile) {
	switch i.Kind() {
	case nmstate.TypeEthernet, nmstate.TypeVeth:
		if i.Veth != nil {
			k.set("veth", "peer", i.Veth.Peer)
		}
	case nmstate.TypeBond:
		i.writeBond(k)
	case nmstate.TypeLinuxBridge:
		i.writeBridge(k)
	case nmstate.TypeOVSBridge:
		i.writeOVSBridge(k)
	case nmstate.TypeOVSInterface:
		i.writeOVSInterface(k)
	case nmstate.TypeVLAN:
		i.writeVLAN(k, i.VLAN)
	case nmstate.TypeVXLAN:
		i.writeVXLAN(k, i.VXLAN)
	case nmstate.TypeMACVLAN:
		i.writeMACVLAN(k, i.MACVLAN, false)
	case nmstate.TypeMACVTAP:
		i.writeMACVLAN(k, i.MACVTAP, true)
	case nmstate.TypeVRF:
		k.set("vrf", "table", i.VRF.RouteTableID)
	case nmstate.TypeInfiniBand:
		i.writeInfiniBand(k)
	default:
		i.writeForgotten(k)
	}
}

func (i *iface) writeVLAN(k keyfile, v *nmstate.VLAN) {
	const reorder, gvrp, loose, mvrp = 1, 2, 4, 8
	flags := 0
	if v.ReorderHeaders == nil || *v.ReorderHeaders {
		flags |= reorder
	}
	switch v.RegistrationProtocol {
	case "gvrp":
		flags |= gvrp
	case "mvrp":
		flags |= mvrp
	}
	if nmstate.Is(v.LooseBinding) {
		flags |= loose
	}
	k.set("vlan", "parent", i.on)
	k.set("vlan", "id", int(v.ID))
	k.set("vlan", "flags", flags)
	// Old versions of NetworkManager do not support the protocol; the default is 802.1q.
	if v.Protocol == "802.1ad" {
		k.set("vlan", "protocol", string(v.Protocol))
	}
}

func (i *iface) writeVXLAN(k keyfile, v *nmstate.VXLAN) {
	k.set("vxlan", "id", int(v.ID))
	k.set("vxlan", "parent", i.on)
	k.set("vxlan", "remote", canonical(v.Remote))
	k.set("vxlan", "local", canonical(v.Local))
	k.set("vxlan", "learning", v.Learning)
	k.set("vxlan", "destination-port", v.DestinationPort)
}

func (i *iface) writeMACVLAN(k keyfile, m *nmstate.MACVLAN, tap bool) {
	modes := []string{"", "vepa", "bridge", "private", "passthru", "source"}
	k.set("macvlan", "mode", slices.Index(modes, m.Mode))
	k.set("macvlan", "parent", i.on)
	k.set("macvlan", "tap", tap)
	k.set("macvlan", "promiscuous", m.Promiscuous)
}

func (i *iface) writeInfiniBand(k keyfile) {
	k.section("infiniband")
	k.set("infiniband", "mtu", i.MTU)
	ib := i.InfiniBand
	if ib == nil {
		return
	}
	k.set("infiniband", "transport-mode", ib.Mode)
	k.set("infiniband", "parent", i.on)
	if ib.PKey != nil && *ib.PKey != 0xffff {
		k.set("infiniband", "p-key", ib.PKey)
	}
}

// writeForgotten writes required sections that NMState's generator omits.
func (i *iface) writeForgotten(k keyfile) {
	switch {
	case i.MACsec != nil:
		m := i.MACsec
		k.set("macsec", "parent", i.on)
		k.set("macsec", "encrypt", m.Encrypt)
		k.set("macsec", "mka-cak", m.MKACAK)
		k.set("macsec", "mka-ckn", m.MKACKN)
		k.set("macsec", "port", int(m.Port))
		k.set("macsec", "send-sci", m.SendSCI)
		k.set("macsec", "validation", slices.Index([]string{"disabled", "check", "strict"}, m.Validation))
		if m.Offload != "" {
			k.set("macsec", "offload", slices.Index([]string{"off", "phy", "mac"}, m.Offload))
		}
	case i.HSR != nil:
		k.set("hsr", "port1", i.HSR.Port1)
		k.set("hsr", "port2", i.HSR.Port2)
		k.set("hsr", "multicast-spec", int(i.HSR.MulticastSpec))
		k.set("hsr", "prp", i.HSR.Protocol == "prp")
	case i.IPVLAN != nil:
		k.set("ipvlan", "parent", i.on)
		k.set("ipvlan", "mode", 1+slices.Index([]string{"l2", "l3", "l3s"}, cmp.Or(i.IPVLAN.Mode, "l3")))
		k.set("ipvlan", "private", i.IPVLAN.Private)
		k.set("ipvlan", "vepa", i.IPVLAN.VEPA)
	}
}

// value returns the value of a pointer, or zero for nil.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
