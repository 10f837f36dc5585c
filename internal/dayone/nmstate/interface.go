package nmstate

import "encoding/json"

// Interface is the desired state of a network interface. Only the sections of its Type are allowed; Parse refuses others.
type Interface struct {
	// Name is the kernel's name of the interface; with another Identifier, it is only the name of the profile.
	Name        string `json:"name" nm:"required"`
	ProfileName string `json:"profile-name,omitempty"`
	Description string `json:"description,omitempty"`
	// AltNames are added to the existing alternative names of the host's interface.
	AltNames []AltName `json:"alt-names,omitempty"`
	// Type is empty if it is not set: a generator assumes ethernet, a live host has the type of the existing interface.
	Type  InterfaceType `json:"type,omitempty"`
	State State         `json:"state,omitempty"`
	// Identifier selects how the host's interface is identified: by Name (the zero value), MACAddress or PCIAddress.
	Identifier Identifier `json:"identifier,omitempty"`
	// PCIAddress is in lower case with its domain: 0000:07:00.0.
	PCIAddress string `json:"pci-address,omitempty"`
	// MACAddress is in upper case with colons.
	MACAddress string `json:"mac-address,omitempty"`
	// PermanentMACAddress, MinMTU, MaxMTU and Driver are reported by NMState, and ignored when desired.
	PermanentMACAddress string  `json:"permanent-mac-address,omitempty"`
	MTU                 *uint64 `json:"mtu,omitempty"`
	MinMTU              *uint64 `json:"min-mtu,omitempty"`
	MaxMTU              *uint64 `json:"max-mtu,omitempty"`
	Driver              string  `json:"driver,omitempty"`
	WaitIP              WaitIP  `json:"wait-ip,omitempty"`
	IPv4                *IPv4   `json:"ipv4,omitempty"`
	IPv6                *IPv6   `json:"ipv6,omitempty"`
	MPTCP               *MPTCP  `json:"mptcp,omitempty"`
	// Controller is the bond, bridge or VRF of a port; empty detaches the port, nil means not set.
	Controller            *string   `json:"controller,omitempty"`
	AcceptAllMACAddresses *bool     `json:"accept-all-mac-addresses,omitempty"`
	CopyMACFrom           string    `json:"copy-mac-from,omitempty"`
	OVSDB                 *OVSPairs `json:"ovs-db,omitempty"`
	IEEE8021X             *EAP      `json:"802.1x,omitempty"`
	LLDP                  *LLDP     `json:"lldp,omitempty"`
	Ethtool               *Ethtool  `json:"ethtool,omitempty"`
	Dispatch              *Dispatch `json:"dispatch,omitempty"`

	Ethernet    *Ethernet    `json:"ethernet,omitempty"`
	Veth        *Veth        `json:"veth,omitempty"`
	Bond        *Bond        `json:"link-aggregation,omitempty" nm:"alias=bond"`
	LinuxBridge *LinuxBridge `json:"-"`
	OVSBridge   *OVSBridge   `json:"-"`
	Patch       *Patch       `json:"patch,omitempty"`
	DPDK        *DPDK        `json:"dpdk,omitempty"`
	VLAN        *VLAN        `json:"vlan,omitempty"`
	VXLAN       *VXLAN       `json:"vxlan,omitempty"`
	MACVLAN     *MACVLAN     `json:"mac-vlan,omitempty"`
	MACVTAP     *MACVLAN     `json:"mac-vtap,omitempty"`
	VRF         *VRF         `json:"vrf,omitempty"`
	InfiniBand  *InfiniBand  `json:"infiniband,omitempty"`
	MACsec      *MACsec      `json:"macsec,omitempty"`
	HSR         *HSR         `json:"hsr,omitempty"`
	IPVLAN      *IPVLAN      `json:"ipvlan,omitempty"`
}

// sectionTypes returns the types with a key; nil for a key of all types.
func sectionTypes(key string) []InterfaceType {
	switch key {
	case "ethernet", "veth":
		return []InterfaceType{TypeEthernet, TypeVeth, ""}
	case "link-aggregation", "bond":
		return []InterfaceType{TypeBond}
	case "bridge":
		return []InterfaceType{TypeLinuxBridge, TypeOVSBridge}
	case "patch", "dpdk":
		return []InterfaceType{TypeOVSInterface}
	case "vlan", "vxlan", "mac-vlan", "mac-vtap", "vrf", "infiniband", "macsec", "hsr", "ipvlan":
		return []InterfaceType{InterfaceType(key)}
	}
	return nil
}

// Up reports whether the state is up or not set.
func (i *Interface) Up() bool { return i.State == "" || i.State == StateUp }

// Found reports whether the interface is identified by an address, so that Name may differ from its name on the host.
func (i *Interface) Found() bool {
	return i.Identifier == IdentifierMAC || i.Identifier == IdentifierPCI
}

// Kept reports whether the interface should exist: its state is up or down.
func (i *Interface) Kept() bool { return i.Up() || i.State == StateDown }

// Kind returns the Type, or ethernet if it is not set.
func (i *Interface) Kind() InterfaceType {
	if i.Type == "" {
		return TypeEthernet
	}
	return i.Type
}

// MarshalJSON encodes the bridge under the common key of both types of bridge.
func (i Interface) MarshalJSON() ([]byte, error) {
	type plain Interface
	out := struct {
		plain
		Bridge any `json:"bridge,omitempty"`
	}{plain: plain(i)}
	switch {
	case i.LinuxBridge != nil:
		out.Bridge = i.LinuxBridge
	case i.OVSBridge != nil:
		out.Bridge = i.OVSBridge
	}
	return json.Marshal(out)
}
