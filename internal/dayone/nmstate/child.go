package nmstate

// VLAN is a VLAN of another interface.
type VLAN struct {
	BaseIface            string       `json:"base-iface,omitempty"`
	ID                   uint16       `json:"id" nm:"required"`
	Protocol             VLANProtocol `json:"protocol,omitempty"`
	RegistrationProtocol string       `json:"registration-protocol,omitempty" nm:"words=gvrp|mvrp|none"`
	// ReorderHeaders nil is true.
	ReorderHeaders *bool `json:"reorder-headers,omitempty"`
	LooseBinding   *bool `json:"loose-binding,omitempty"`
}

// VXLAN is an overlay network over UDP.
type VXLAN struct {
	ID        uint32 `json:"id" nm:"required"`
	BaseIface string `json:"base-iface,omitempty"`
	Remote    string `json:"remote,omitempty"`
	Local     string `json:"local,omitempty"`
	Learning  *bool  `json:"learning,omitempty"`
	// DestinationPort nil is the host's default.
	DestinationPort *uint16 `json:"destination-port,omitempty"`
}

// MACVLAN is an interface with a separate MAC address on the link of another interface.
type MACVLAN struct {
	BaseIface string `json:"base-iface" nm:"required"`
	Mode      string `json:"mode" nm:"required,words=vepa|bridge|private|passthru|source"`
	// Promiscuous nil is true.
	Promiscuous *bool `json:"promiscuous,omitempty" nm:"alias=accept-all-mac"`
}

// IPVLAN is an interface with the MAC address of its parent.
type IPVLAN struct {
	BaseIface string `json:"base-iface,omitempty"`
	Mode      string `json:"mode,omitempty" nm:"words=l2|l3|l3s"`
	Private   *bool  `json:"private,omitempty"`
	VEPA      *bool  `json:"vepa,omitempty"`
}

// VRF is a routing domain.
type VRF struct {
	Port         []string `json:"port,omitempty" nm:"alias=ports"`
	RouteTableID *uint32  `json:"route-table-id,omitempty"`
}

// InfiniBand is IP over InfiniBand.
type InfiniBand struct {
	Mode      string `json:"mode" nm:"required,words=datagram|connected"`
	BaseIface string `json:"base-iface,omitempty"`
	// PKey is the partition of a child; nil or 0xffff means the device itself.
	PKey *uint16 `json:"pkey,omitempty"`
}

// MACsec encrypts a link.
type MACsec struct {
	BaseIface string `json:"base-iface" nm:"required,alias=parent"`
	Encrypt   bool   `json:"encrypt" nm:"required"`
	// MKACAK has 32 hexadecimal digits, MKACKN 2 to 64; one needs the other.
	MKACAK     string `json:"mka-cak,omitempty"`
	MKACKN     string `json:"mka-ckn,omitempty"`
	Port       uint32 `json:"port" nm:"required"`
	Validation string `json:"validation" nm:"required,words=disabled|check|strict"`
	SendSCI    bool   `json:"send-sci" nm:"required"`
	Offload    string `json:"offload,omitempty" nm:"words=off|phy|mac"`
}

// HSR is a redundant interface that sends all packets on two links.
type HSR struct {
	Port1 string `json:"port1" nm:"required"`
	Port2 string `json:"port2" nm:"required"`
	// SupervisionAddress is reported by NMState.
	SupervisionAddress string      `json:"supervision-address,omitempty"`
	MulticastSpec      uint8       `json:"multicast-spec" nm:"required"`
	Protocol           HSRProtocol `json:"protocol" nm:"required"`
}

// HSRProtocol is the redundancy protocol: HSR of 2010, or PRP.
type HSRProtocol string

func (HSRProtocol) words() ([]string, bool) { return []string{"hsr", "prp"}, false }

// refused has the two common spellings of the version of 2012.
func (HSRProtocol) refused() map[string]string {
	const why = "NMState knows from version 2.2.57 on, and is not supported here: it needs NetworkManager 1.56, and older ones drop or ignore it; " +
		"use hsr (the version of 2010) on all devices of the ring, or create the interface after the boot with ip link add type hsr version 1"
	return map[string]string{"hsr-2012": why, "hsr2012": why}
}
