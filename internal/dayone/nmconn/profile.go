package nmconn

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// profile is a keyfile with its name.
type profile struct {
	id   string
	keys keyfile
}

// profiles returns an interface's profile, and those of an Open vSwitch bridge's ports or of a veth peer.
func (n *network) profiles(i *iface) []profile {
	k := keyfile{}
	id := i.profileID()
	connection(k, id, i.connectionType(), uuid(i.uuidType(), i.Name))
	if !i.Found() {
		k.set("connection", "interface-name", i.Name)
	}
	if i.Identifier == nmstate.IdentifierPCI {
		// The path is that in udev's database; the list ends with a separator.
		k.set("match", "path", []string{"pci-" + i.PCIAddress, ""})
	}
	if i.isController() {
		k.set("connection", "autoconnect-slaves", 1)
	}
	if !i.Up() {
		k.set("connection", "autoconnect", false)
	}
	if i.LLDP != nil {
		k.set("connection", "lldp", digit(&i.LLDP.Enabled))
	}
	k.set("connection", "mptcp-flags", mptcpFlags(i.MPTCP))
	i.writeController(k)
	i.writeIP(k)
	i.writeLink(k)
	i.writeKind(k)
	out := []profile{{id, k}}
	switch {
	case i.ovsBridge():
		out = append(out, i.ovsPortProfiles()...)
	case i.Veth != nil && n.needsPeer(i.Veth.Peer):
		out = append(out, peerProfile(i.Veth.Peer, i.Name, i.Up()))
	}
	return out
}

// connection writes the section connection.
func connection(k keyfile, id, kind, uuid string) {
	k.set("connection", "autoconnect", true)
	k.set("connection", "autoconnect-slaves", -1)
	k.set("connection", "id", id)
	k.set("connection", "type", kind)
	k.set("connection", "uuid", uuid)
}

// profileID returns the name of the profile, which is also the file name.
func (i *iface) profileID() string {
	switch {
	case i.ProfileName != "":
		return i.ProfileName
	case i.ovsBridge():
		return i.Name + "-br"
	case i.Type == nmstate.TypeOVSInterface:
		return i.Name + "-if"
	}
	return i.Name
}

// connectionType returns NetworkManager's type of the interface.
func (i *iface) connectionType() string {
	switch i.Kind() {
	case nmstate.TypeEthernet, nmstate.TypeVeth:
		if i.Veth != nil {
			return "veth"
		}
		return "802-3-ethernet"
	case nmstate.TypeLinuxBridge:
		return "bridge"
	case nmstate.TypeMACVLAN, nmstate.TypeMACVTAP:
		return "macvlan"
	}
	return string(i.Kind())
}

// uuidType returns the type that is part of the UUID: NMState treats a veth pair as two cards.
func (i *iface) uuidType() string {
	if i.Kind() == nmstate.TypeVeth {
		return string(nmstate.TypeEthernet)
	}
	return string(i.Kind())
}

// writeController writes the controller of a port.
func (i *iface) writeController(k keyfile) {
	c := i.controller
	if c == nil {
		return
	}
	master, kind := c.Name, c.connectionType()
	if c.ovsBridge() {
		master, kind = i.ovsPort, "ovs-port"
	}
	k.set("connection", "master", master)
	k.set("connection", "slave-type", kind)
	switch c.Type {
	case nmstate.TypeBond:
		i.writeBondPort(k, c.Bond)
	case nmstate.TypeLinuxBridge:
		i.writeBridgePort(k, c.LinuxBridge)
	}
}

// mptcpFlags returns NetworkManager's bits of the flags; without a flag, the one that disables MPTCP. Like in NMState, addresses are used with or without a
// default route.
func mptcpFlags(m *nmstate.MPTCP) string {
	const disabled, withoutDefaultRoute = 0x1, 0x8
	bits := map[string]int{"signal": 0x10, "subflow": 0x20, "backup": 0x40, "fullmesh": 0x80}
	switch {
	case m == nil || m.AddressFlags == nil:
		return ""
	case len(m.AddressFlags) == 0:
		return format(disabled)
	}
	flags := withoutDefaultRoute
	for _, f := range m.AddressFlags {
		flags |= bits[f]
	}
	return format(flags)
}

// needsPeer reports whether a veth peer is undeclared.
func (n *network) needsPeer(name string) bool {
	return n.kernel[name] == nil && n.removed[name] == ""
}

// peerProfile returns the profile of a veth peer, without addresses.
func peerProfile(name, end string, up bool) profile {
	k := keyfile{}
	connection(k, name, "veth", uuid("veth", name))
	k.set("connection", "interface-name", name)
	k.set("connection", "autoconnect", up)
	i := &iface{Interface: &nmstate.Interface{Name: name, IPv4: &nmstate.IPv4{}, IPv6: &nmstate.IPv6{}}}
	i.writeIP(k)
	k.set("veth", "peer", end)
	return profile{name, k}
}

// writeLink writes the sections that do not depend on the interface's type.
func (i *iface) writeLink(k keyfile) {
	i.writeEthernet(k)
	k.set("user", "nmstate.interface.description", i.Description)
	i.writeEAP(k)
	i.writeEthtool(k)
	if i.OVSDB != nil && (i.ovsBridge() || i.controller != nil && i.controller.ovsBridge()) {
		writePairs(k, i.OVSDB)
	}
}

func (i *iface) writeEAP(k keyfile) {
	e := i.IEEE8021X
	if e == nil {
		return
	}
	k.section("802-1x")
	k.set("802-1x", "identity", e.Identity)
	if len(e.EAPMethods) > 0 {
		// NetworkManager requires a trailing separator.
		k.set("802-1x", "eap", append(slices.Clone(e.EAPMethods), ""))
	}
	k.set("802-1x", "private-key", e.PrivateKey)
	k.set("802-1x", "client-cert", e.ClientCert)
	k.set("802-1x", "ca-cert", e.CACert)
	k.set("802-1x", "private-key-password", shown(e.PrivateKeyPassword))
	k.set("802-1x", "phase2-auth", e.Phase2Auth)
	k.set("802-1x", "password", shown(e.Password))
}

// hidden is the placeholder that NMState shows for passwords.
const hidden = "<_password_hid_by_nmstate>"

// shown returns a password; empty for a hidden one.
func shown(password string) string {
	if password == hidden {
		return ""
	}
	return password
}

// noMAC reports whether the interface's type has no configurable MAC address.
func (i *iface) noMAC() bool {
	return i.Type == nmstate.TypeVRF || i.Type == nmstate.TypeLoopback
}
