package nmstate

// OVSBridge is an Open vSwitch bridge.
type OVSBridge struct {
	// AllowExtraPatchPorts allows ports of OVN in the verification.
	AllowExtraPatchPorts *bool             `json:"allow-extra-patch-ports,omitempty"`
	Options              *OVSBridgeOptions `json:"options,omitempty"`
	// Port is nil if the document does not list ports.
	Port []OVSPort `json:"port,omitempty" nm:"alias=ports"`
}

// OVSBridgeOptions are the options of an Open vSwitch bridge.
type OVSBridgeOptions struct {
	STP                 *OVSSTP `json:"stp,omitempty"`
	RSTP                *bool   `json:"rstp,omitempty"`
	MCastSnoopingEnable *bool   `json:"mcast-snooping-enable,omitempty"`
	FailMode            string  `json:"fail-mode,omitempty"`
	// Datapath is system (the kernel's; also when empty) or netdev (in user space).
	Datapath string `json:"datapath,omitempty"`
}

// OVSSTP is the spanning tree protocol of a bridge; a plain boolean is also accepted.
type OVSSTP struct {
	Enabled *bool `json:"enabled,omitempty"`
}

func (OVSSTP) scalarKey() string { return "enabled" }

// OVSPort is a port of a bridge: one interface of the same name, or a bond of several.
type OVSPort struct {
	Name string    `json:"name" nm:"required"`
	VLAN *PortVLAN `json:"vlan,omitempty"`
	Bond *OVSBond  `json:"link-aggregation,omitempty"`
}

// OVSBond is a bond in Open vSwitch.
type OVSBond struct {
	Mode string        `json:"mode,omitempty" nm:"words=active-backup|balance-slb|balance-tcp|lacp"`
	Port []OVSBondPort `json:"port,omitempty" nm:"alias=ports"`
	// BondUpDelay and BondDownDelay are milliseconds.
	BondUpDelay   *uint32   `json:"bond-updelay,omitempty"`
	BondDownDelay *uint32   `json:"bond-downdelay,omitempty"`
	OVSDB         *OVSPairs `json:"ovs-db,omitempty"`
}

// OVSBondPort is a member of a bond. Unknown keys are accepted, as in NMState.
type OVSBondPort struct {
	Name string `json:"name" nm:"required"`
}

func (OVSBondPort) loose() {}

// Members returns the names of the port's interfaces.
func (p *OVSPort) Members() []string {
	if p.Bond == nil {
		return []string{p.Name}
	}
	var out []string
	for _, m := range p.Bond.Port {
		out = append(out, m.Name)
	}
	return out
}

// OVSPairs are an interface's keys in Open vSwitch's database.
type OVSPairs struct {
	ExternalIDs Pairs `json:"external_ids,omitempty" nm:"alias=external-ids"`
	OtherConfig Pairs `json:"other_config,omitempty" nm:"alias=other-config"`
}

// Pairs are keys and values of Open vSwitch's database. A nil value deletes the key.
type Pairs map[string]*string

// Patch connects two Open vSwitch bridges.
type Patch struct {
	Peer string `json:"peer" nm:"required"`
}

// DPDK is a userspace device of Open vSwitch.
type DPDK struct {
	DevArgs string  `json:"devargs" nm:"required"`
	RXQueue *uint32 `json:"rx-queue,omitempty" nm:"alias=n_rxq"`
	// NRXQDesc and NTXQDesc are numbers of descriptors, powers of two up to 4096; 0 removes the setting.
	NRXQDesc *uint32 `json:"n_rxq_desc,omitempty"`
	NTXQDesc *uint32 `json:"n_txq_desc,omitempty"`
}
