package nmconn

import "github.com/cluster-network-operator/cno/internal/dayone/nmstate"

// checkSection reports a missing section that the interface's type requires.
func (n *network) checkSection(i *iface) {
	for _, s := range []struct {
		kind    nmstate.InterfaceType
		key     string
		missing bool
	}{
		{nmstate.TypeVLAN, "vlan", i.VLAN == nil}, {nmstate.TypeVXLAN, "vxlan", i.VXLAN == nil},
		{nmstate.TypeMACVLAN, "mac-vlan", i.MACVLAN == nil}, {nmstate.TypeMACVTAP, "mac-vtap", i.MACVTAP == nil},
		{nmstate.TypeVRF, "vrf", i.VRF == nil}, {nmstate.TypeMACsec, "macsec", i.MACsec == nil},
		{nmstate.TypeHSR, "hsr", i.HSR == nil}, {nmstate.TypeIPVLAN, "ipvlan", i.IPVLAN == nil},
		{nmstate.TypeVeth, "veth", i.Veth == nil && i.Up()},
	} {
		if i.Type == s.kind && s.missing {
			n.errorf(i, s.key, "is missing; an interface of type %s needs it", i.Type)
		}
	}
	switch {
	case i.VLAN != nil:
		n.checkVLAN(i)
	case i.VRF != nil && value(i.VRF.RouteTableID) == 0:
		n.errorf(i, "vrf.route-table-id", "is missing or 0; name the routing table of the VRF")
	case i.MACVLAN != nil:
		n.checkMACVLAN(i, "mac-vlan", i.MACVLAN)
	case i.MACVTAP != nil:
		n.checkMACVLAN(i, "mac-vtap", i.MACVTAP)
	case i.MACsec != nil:
		n.checkMACsec(i)
	case i.IPVLAN != nil:
		n.checkIPVLAN(i)
	case i.VXLAN != nil:
		n.checkVXLAN(i)
	case i.Veth != nil:
		n.checkDeviceName(i, "veth.peer", i.Veth.Peer)
	}
}

func (n *network) checkVLAN(i *iface) {
	if i.VLAN.BaseIface == "" {
		n.errorf(i, "vlan.base-iface", "is missing; name the interface that carries the VLAN")
	}
	if i.VLAN.ID > maxVLAN {
		n.errorf(i, "vlan.id", "is %d; it is at most %d", i.VLAN.ID, maxVLAN)
	}
}

func (n *network) checkMACVLAN(i *iface, key string, m *nmstate.MACVLAN) {
	if isFalse(m.Promiscuous) && m.Mode != "passthru" {
		n.errorf(i, key+".promiscuous", "can be false only with mode passthru")
	}
}

func (n *network) checkIPVLAN(i *iface) {
	if i.IPVLAN.BaseIface == "" {
		n.errorf(i, "ipvlan.base-iface", "is missing; name the interface below")
	}
	if nmstate.Is(i.IPVLAN.Private) && nmstate.Is(i.IPVLAN.VEPA) {
		n.errorf(i, "ipvlan.vepa", "is true, and private too; only one can be")
	}
}

func (n *network) checkMACsec(i *iface) {
	m := i.MACsec
	switch {
	case m.MKACAK == "" && m.MKACKN == "":
		n.dropf(i, "macsec.mka-ckn", "is missing, and mka-cak; NetworkManager needs both keys")
	case (m.MKACAK == "") != (m.MKACKN == ""):
		n.errorf(i, "macsec", "has only one of mka-cak and mka-ckn; they need one another")
	case m.MKACAK != "" && len(m.MKACAK) != 32:
		n.errorf(i, "macsec.mka-cak", "has %d letters; 32 hexadecimal digits are wanted", len(m.MKACAK))
	case m.MKACKN != "" && (len(m.MKACKN) < 2 || len(m.MKACKN) > 64 || len(m.MKACKN)%2 == 1):
		n.errorf(i, "macsec.mka-ckn", "has %d letters; an even number of hexadecimal digits from 2 to 64 is wanted", len(m.MKACKN))
	}
}

// checkParent refuses a child whose parent is absent in the same document. Cards with state absent are not removed.
func (n *network) checkParent(i *iface) {
	p := i.parent()
	if p == "" || n.removed[p] != nmstate.StateAbsent || !i.Up() {
		return
	}
	for idx := range n.doc.Interfaces {
		if o := &n.doc.Interfaces[idx]; o.Name == p && o.Kind() != nmstate.TypeEthernet && o.Kind() != nmstate.TypeVeth && o.Kind() != nmstate.TypeOVSBridge {
			n.errorf(i, "", "is created on %s, which is to be absent", p)
			return
		}
	}
}
