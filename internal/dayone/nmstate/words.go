package nmstate

// InterfaceType is NMState's name of an interface's type.
type InterfaceType string

// The types of interfaces.
const (
	TypeBond         InterfaceType = "bond"
	TypeDummy        InterfaceType = "dummy"
	TypeEthernet     InterfaceType = "ethernet"
	TypeHSR          InterfaceType = "hsr"
	TypeInfiniBand   InterfaceType = "infiniband"
	TypeIPVLAN       InterfaceType = "ipvlan"
	TypeLinuxBridge  InterfaceType = "linux-bridge"
	TypeLoopback     InterfaceType = "loopback"
	TypeMACsec       InterfaceType = "macsec"
	TypeMACVLAN      InterfaceType = "mac-vlan"
	TypeMACVTAP      InterfaceType = "mac-vtap"
	TypeOVSBridge    InterfaceType = "ovs-bridge"
	TypeOVSInterface InterfaceType = "ovs-interface"
	TypeVeth         InterfaceType = "veth"
	TypeVLAN         InterfaceType = "vlan"
	TypeVRF          InterfaceType = "vrf"
	TypeVXLAN        InterfaceType = "vxlan"
)

func (InterfaceType) words() ([]string, bool) {
	return []string{"bond", "dummy", "ethernet", "hsr", "infiniband", "ipvlan", "linux-bridge", "loopback", "macsec",
		"mac-vlan", "mac-vtap", "ovs-bridge", "ovs-interface", "veth", "vlan", "vrf", "vxlan"}, false
}

// refused are kinds that NMState knows and a document of day one cannot have.
func (InterfaceType) refused() map[string]string {
	return map[string]string{
		"ipsec": "needs keys from Libreswan's database on the host and a plug-in of NetworkManager, neither of which a host has at its first boot; " +
			"encrypt pods with the cluster's own IPsec (ipsecConfig of the Network), and tunnels of the host itself with a tool that runs after the boot",
		"ip-tunnel": "NMState knows from version 2.2.60 on, and is not supported here; use a vxlan interface, or create the tunnel after the boot with nmcli connection add type ip-tunnel",
	}
}

// State says whether an interface is to be active, to exist, or to be ignored. Empty is StateUp.
type State string

// The states of an interface.
const (
	StateUp     State = "up"
	StateDown   State = "down"
	StateAbsent State = "absent"
	StateIgnore State = "ignore"
)

func (State) words() ([]string, bool) { return []string{"up", "down", "absent", "ignore"}, false }

// Identifier is how the interface of a document is found on the host. Empty is IdentifierName.
type Identifier string

// The ways to find an interface.
const (
	IdentifierName Identifier = "name"
	IdentifierMAC  Identifier = "mac-address"
	IdentifierPCI  Identifier = "pci-address"
)

func (Identifier) words() ([]string, bool) {
	return []string{"name", "mac-address", "pci-address"}, false
}

// WaitIP selects the families that must have an address before the interface is active.
type WaitIP string

func (WaitIP) words() ([]string, bool) { return []string{"any", "ipv4", "ipv6", "ipv4+ipv6"}, false }

// Special is the action of a route or rule that does not forward packets.
type Special string

func (Special) words() ([]string, bool) {
	return []string{"blackhole", "unreachable", "prohibit"}, false
}

// VLANProtocol is the protocol of a VLAN tag. Empty is 802.1q.
type VLANProtocol string

func (VLANProtocol) words() ([]string, bool) { return []string{"802.1q", "802.1ad"}, false }
