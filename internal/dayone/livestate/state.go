// Package livestate describes the current state of a host's network, and compares it with a document. Backends of package hostapply read a State. A comparison
// only includes parts that the document names. The package is pure.
package livestate

import (
	"net/netip"
	"slices"
)

// State is the state of a host's network. The zero value is a host without links.
type State struct {
	Links  []Link   `json:"links"`
	Routes []Route  `json:"routes,omitempty"`
	Rules  []Rule   `json:"rules,omitempty"`
	DNS    DNS      `json:"dns,omitzero"`
	OVS    []Bridge `json:"ovs,omitempty"` // nil also if Open vSwitch does not answer
	Switch Switch   `json:"switch,omitzero"`
	// Hostname is the kernel's host name, with or without a domain.
	Hostname string `json:"hostname,omitempty"`
}

// Link is a network device.
type Link struct {
	Name string `json:"name"`
	// AltNames are the alternative names, which are unique among all names.
	AltNames []string `json:"altNames,omitempty"`
	// Kind is NMState's name of the type: ethernet, veth, bond, vlan, linux-bridge, ovs-interface, ...; for types that NMState does not have, the
	// kernel's name.
	Kind string `json:"kind"`
	MAC  string `json:"mac,omitempty"` // lower case, with colons
	// PermanentMAC is the address burnt into the device; empty for one without.
	PermanentMAC string `json:"permanentMAC,omitempty"`
	// PCIAddress is the PCI address, such as 0000:07:00.0; empty for other devices.
	PCIAddress string `json:"pciAddress,omitempty"`
	Driver     string `json:"driver,omitempty"` // the kernel module, as ethtool -i says; empty if unknown
	MTU        int    `json:"mtu"`              // bytes
	Up         bool   `json:"up"`               // administratively
	Carrier    bool   `json:"carrier"`          // the link is up
	// Controller is the bond, bridge, VRF or OVS bridge that the link is a port of; empty if none.
	Controller string `json:"controller,omitempty"`
	// Parent is the device below a VLAN, VXLAN or MACVLAN; empty for all others.
	Parent    string    `json:"parent,omitempty"`
	Addresses []Address `json:"addresses,omitempty"`
	IPv4      Method    `json:"ipv4,omitzero"`
	IPv6      Method    `json:"ipv6,omitzero"`
	// Fields of some kinds; nil for other kinds.
	Bond    *Bond        `json:"bond,omitempty"`
	VLAN    *VLAN        `json:"vlan,omitempty"`
	VXLAN   *VXLAN       `json:"vxlan,omitempty"`
	Bridge  *LinuxBridge `json:"bridge,omitempty"`
	VRF     *VRF         `json:"vrf,omitempty"`
	Peer    string       `json:"peer,omitempty"`    // of a veth, if it is in the same namespace
	MACVLAN string       `json:"macvlan,omitempty"` // the mode
}

// Address is an address of a link.
type Address struct {
	Prefix netip.Prefix `json:"prefix"` // host bits kept
	// Dynamic is true for addresses with a lifetime, from a DHCP server or a router.
	Dynamic bool `json:"dynamic,omitempty"`
	// Valid and Preferred are the remaining lifetimes of a dynamic address in seconds; 0 for others.
	Valid     int `json:"valid,omitempty"`
	Preferred int `json:"preferred,omitempty"`
	// Tentative is true during duplicate address detection; the address cannot be used yet.
	Tentative bool `json:"tentative,omitempty"`
	// Duplicate is true if another host has the address; the kernel does not use it.
	Duplicate bool `json:"duplicate,omitempty"`
}

// Method is the automatic configuration of an IP family of a link, as far as the backend can detect it. The zero value means none.
type Method struct {
	DHCP     bool `json:"dhcp,omitempty"`
	Autoconf bool `json:"autoconf,omitempty"` // IPv6 router advertisements
	// ClientID is the DHCP client ID in NMState's syntax (ll, iaid+duid, or the ID itself), DUID its DHCPv6 counterpart.
	ClientID string `json:"clientID,omitempty"`
	DUID     string `json:"duid,omitempty"`
	// AddrGenMode is eui64, stable-privacy or empty, for IPv6 only.
	AddrGenMode string `json:"addrGenMode,omitempty"`
	IgnoreDNS   bool   `json:"ignoreDNS,omitempty"` // the DNS configuration of DHCP is not used
}

// Bond has the properties of a bond.
type Bond struct {
	Mode    string            `json:"mode"`
	Options map[string]string `json:"options,omitempty"` // NMState's names, words where it has words
	Ports   []string          `json:"ports,omitempty"`
}

// VLAN has the properties of a VLAN device.
type VLAN struct {
	ID       int    `json:"id"`
	Protocol string `json:"protocol,omitempty"` // 802.1q, 802.1ad
}

// VXLAN has the properties of a VXLAN device.
type VXLAN struct {
	ID     int    `json:"id"`
	Remote string `json:"remote,omitempty"`
	Port   int    `json:"port,omitempty"`
}

// LinuxBridge has the properties of a Linux bridge.
type LinuxBridge struct {
	Ports []string `json:"ports,omitempty"`
	STP   bool     `json:"stp,omitempty"`
}

// VRF has the properties of a VRF.
type VRF struct {
	Table uint32   `json:"table"`
	Ports []string `json:"ports,omitempty"`
}

// Route is a route of the kernel, in any table except local.
type Route struct {
	Destination netip.Prefix `json:"destination"`  // ::/0 and 0.0.0.0/0 are the defaults
	Via         netip.Addr   `json:"via,omitzero"` // invalid if on link
	Interface   string       `json:"interface,omitempty"`
	Metric      int          `json:"metric,omitempty"`
	Table       int          `json:"table"`          // 254 is main
	Type        string       `json:"type,omitempty"` // blackhole, unreachable, prohibit; empty for a plain one
	Source      netip.Addr   `json:"source,omitzero"`
	// Protocol is the origin: kernel, boot, static, dhcp, ra, or a number.
	Protocol string `json:"protocol,omitempty"`
}

// Rule is a routing rule.
type Rule struct {
	Family    int          `json:"family"` // 4 or 6
	Priority  int          `json:"priority"`
	From, To  netip.Prefix `json:",omitzero"` // invalid means any
	Table     int          `json:"table,omitempty"`
	Mark      uint32       `json:"mark,omitempty"`
	Mask      uint32       `json:"mask,omitempty"`
	Interface string       `json:"iif,omitempty"`
	Action    string       `json:"action,omitempty"` // blackhole, unreachable, prohibit; empty for a table
	// SuppressPrefixLength is -1 if the rule suppresses nothing.
	SuppressPrefixLength int `json:"suppressPrefixLength"`
}

// DNS is the DNS configuration of the host.
type DNS struct {
	Servers []string `json:"servers,omitempty"`
	Search  []string `json:"search,omitempty"`
	Options []string `json:"options,omitempty"`
}

// Switch is the configuration of Open vSwitch as a whole.
type Switch struct {
	ExternalIDs map[string]string `json:"externalIDs,omitempty"`
	OtherConfig map[string]string `json:"otherConfig,omitempty"`
}

// Bridge is an Open vSwitch bridge.
type Bridge struct {
	Name          string            `json:"name"`
	Datapath      string            `json:"datapath,omitempty"` // system if empty
	FailMode      string            `json:"failMode,omitempty"`
	STP, RSTP     bool              `json:",omitempty"`
	McastSnooping bool              `json:"mcastSnooping,omitempty"`
	ExternalIDs   map[string]string `json:"externalIDs,omitempty"`
	OtherConfig   map[string]string `json:"otherConfig,omitempty"`
	Ports         []BridgePort      `json:"ports,omitempty"`
	// Drop are keys that must be absent from both maps. It is empty in a live state.
	Drop []string `json:"-"`
}

// BridgePort is one port of a Bridge; with more than one interface it is a bond.
type BridgePort struct {
	Name        string            `json:"name"`
	Tag         *int              `json:"tag,omitempty"`
	VLANMode    string            `json:"vlanMode,omitempty"`
	Trunks      []int             `json:"trunks,omitempty"`
	BondMode    string            `json:"bondMode,omitempty"`
	LACP        string            `json:"lacp,omitempty"`
	UpDelay     int               `json:"upDelay,omitempty"`   // milliseconds
	DownDelay   int               `json:"downDelay,omitempty"` // milliseconds
	ExternalIDs map[string]string `json:"externalIDs,omitempty"`
	OtherConfig map[string]string `json:"otherConfig,omitempty"`
	Interfaces  []BridgeInterface `json:"interfaces"`
}

// BridgeInterface is one interface of a BridgePort.
type BridgeInterface struct {
	Name        string            `json:"name"`
	Type        string            `json:"type,omitempty"` // internal, patch, dpdk; empty for a device of the kernel
	MAC         string            `json:"mac,omitempty"`  // requested in the database; the device may have another
	MTU         int               `json:"mtu,omitempty"`  // wanted by the database
	Options     map[string]string `json:"options,omitempty"`
	ExternalIDs map[string]string `json:"externalIDs,omitempty"`
	OtherConfig map[string]string `json:"otherConfig,omitempty"`
	// Error is the error that Open vSwitch reports; empty if there is none.
	Error string `json:"error,omitempty"`
}

// Link returns the link of a name, or false.
func (s *State) Link(name string) (*Link, bool) {
	for i := range s.Links {
		if s.Links[i].Name == name {
			return &s.Links[i], true
		}
	}
	return nil, false
}

// LinkByAltName returns the link with an alternative name.
func (s *State) LinkByAltName(name string) (*Link, bool) {
	for i := range s.Links {
		if slices.Contains(s.Links[i].AltNames, name) {
			return &s.Links[i], true
		}
	}
	return nil, false
}

// LinkByMAC returns the network card whose permanent address, or else whose current address, is mac (lower case). It ignores interfaces on top of a card,
// which often have the same address.
func (s *State) LinkByMAC(mac string) (*Link, bool) {
	for i := range s.Links {
		if s.Links[i].PermanentMAC == mac {
			return &s.Links[i], true
		}
	}
	for i := range s.Links {
		if l := &s.Links[i]; l.MAC == mac && (l.Kind == "ethernet" || l.Kind == "veth") {
			return l, true
		}
	}
	return nil, false
}

// LinkByPCI returns the network card at a PCI address in the form of sysfs; the first one if several have the same address, as the ports of some adapters do.
func (s *State) LinkByPCI(address string) (*Link, bool) {
	for i := range s.Links {
		if s.Links[i].PCIAddress == address && address != "" {
			return &s.Links[i], true
		}
	}
	return nil, false
}

// OVSBridge returns the Open vSwitch bridge of a name, or false.
func (s *State) OVSBridge(name string) (*Bridge, bool) {
	for i := range s.OVS {
		if s.OVS[i].Name == name {
			return &s.OVS[i], true
		}
	}
	return nil, false
}

// Settled reports whether no address is still tentative.
func (s *State) Settled() bool {
	for _, l := range s.Links {
		for _, a := range l.Addresses {
			if a.Tentative {
				return false
			}
		}
	}
	return true
}

// MainTable is the routing table that a route without one is in.
const MainTable = 254

// Default reports whether the route is a unicast default route.
func (r Route) Default() bool {
	return r.Type == "" && r.Destination.IsValid() && r.Destination.Bits() == 0
}
