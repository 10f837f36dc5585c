package nmstate

// Ethernet has the settings of Ethernet devices.
type Ethernet struct {
	AutoNegotiation *bool `json:"auto-negotiation,omitempty"`
	// Speed is in Mb/s.
	Speed  *uint32 `json:"speed,omitempty"`
	Duplex string  `json:"duplex,omitempty" nm:"words=full|half"`
	SRIOV  *SRIOV  `json:"sr-iov,omitempty"`
}

// SRIOV are the virtual functions of a device.
type SRIOV struct {
	TotalVFs *uint32 `json:"total-vfs,omitempty"`
	// DriversAutoprobe allows the host's drivers to bind to the functions.
	DriversAutoprobe *bool `json:"drivers-autoprobe,omitempty"`
	// VFs are the settings of functions; nil keeps them, and an empty list sets all to their defaults.
	VFs []VF `json:"vfs,omitempty"`
}

// VF is a virtual function. Rates are in Mb/s.
type VF struct {
	ID         uint32       `json:"id" nm:"required"`
	IfaceName  string       `json:"iface-name,omitempty"`
	MACAddress string       `json:"mac-address,omitempty"`
	SpoofCheck *bool        `json:"spoof-check,omitempty"`
	Trust      *bool        `json:"trust,omitempty"`
	MinTXRate  *uint32      `json:"min-tx-rate,omitempty"`
	MaxTXRate  *uint32      `json:"max-tx-rate,omitempty"`
	VLANID     *uint32      `json:"vlan-id,omitempty"`
	QoS        *uint32      `json:"qos,omitempty"`
	VLANProto  VLANProtocol `json:"vlan-proto,omitempty"`
}

// Veth is an end of a veth pair. Unknown keys are accepted, as in NMState.
type Veth struct {
	Peer string `json:"peer" nm:"required"`
}

func (Veth) loose() {}

// EAP is IEEE 802.1X authentication. Certificates and the key are paths on the host.
type EAP struct {
	Identity           string   `json:"identity,omitempty"`
	EAPMethods         []string `json:"eap-methods,omitempty"`
	PrivateKey         string   `json:"private-key,omitempty"`
	ClientCert         string   `json:"client-cert,omitempty"`
	CACert             string   `json:"ca-cert,omitempty"`
	PrivateKeyPassword string   `json:"private-key-password,omitempty"`
	Phase2Auth         string   `json:"phase2-auth,omitempty"`
	Password           string   `json:"password,omitempty"`
}

// LLDP is the link layer discovery protocol. Neighbors are reported by NMState.
type LLDP struct {
	Enabled   bool `json:"enabled" nm:"required"`
	Neighbors any  `json:"neighbors,omitempty" nm:"skip"`
}

// MPTCP sets flags on all addresses of the interface.
type MPTCP struct {
	AddressFlags []string `json:"address-flags,omitempty" nm:"words=signal|subflow|backup|fullmesh"`
}

// Dispatch are scripts to run when the interface changes. Keyfiles cannot contain them.
type Dispatch struct {
	PostActivation   string `json:"post-activation,omitempty"`
	PostDeactivation string `json:"post-deactivation,omitempty"`
	Variables        Pairs  `json:"variables,omitempty"`
}
