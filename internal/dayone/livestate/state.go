// Package livestate describes a host's network as it is at one moment, and compares it with what a document
// wants. It reads nothing itself: a backend of package hostapply fills in a State. A comparison looks only at what
// the document names; whatever else the host has is none of its business.
package livestate

import (
	"net/netip"
	"slices"
)

// State is a host's network at one moment. The zero value is a host without any link.
type State struct {
	Links  []Link   `json:"links"`
	Routes []Route  `json:"routes,omitempty"`
	Rules  []Rule   `json:"rules,omitempty"`
	DNS    DNS      `json:"dns,omitzero"`
	OVS    []Bridge `json:"ovs,omitempty"` // the bridges of the OVSDB; nil too where no Open vSwitch answers
	Switch Switch   `json:"switch,omitzero"`
	// Hostname is the name that the kernel has, as it is, with or without a domain.
	Hostname string `json:"hostname,omitempty"`
}

// Link is one network device.
type Link struct {
	Name string `json:"name"`
	// AltNames are the alternative names, which no other link has as a name of any kind.
	AltNames []string `json:"altNames,omitempty"`
	// Kind is the word that NMState uses for the type: ethernet, veth, bond, vlan, linux-bridge, ovs-interface, ...
	// A device that NMState has no word for has the kernel's word.
	Kind string `json:"kind"`
	MAC  string `json:"mac,omitempty"` // lower case, with colons
	// PermanentMAC is the address burnt into the device; empty for one without.
	PermanentMAC string `json:"permanentMAC,omitempty"`
	// PCIAddress is where the device is on the PCI bus: 0000:07:00.0; empty for one that is not.
	PCIAddress string `json:"pciAddress,omitempty"`
	Driver     string `json:"driver,omitempty"` // the kernel module, as ethtool -i says; empty if unknown
	MTU        int    `json:"mtu"`              // bytes
	Up         bool   `json:"up"`               // administratively
	Carrier    bool   `json:"carrier"`          // the other side is there too
	// Controller is the bond, bridge, VRF or OVS bridge that the link is a port of; empty if none.
	Controller string `json:"controller,omitempty"`
	// Parent is the device below a VLAN, VXLAN or MACVLAN; empty for all others.
	Parent    string    `json:"parent,omitempty"`
	Addresses []Address `json:"addresses,omitempty"`
	IPv4      Method    `json:"ipv4,omitzero"`
	IPv6      Method    `json:"ipv6,omitzero"`
	// Detail is what is particular to the kind; nil for a kind without.
	Bond    *Bond        `json:"bond,omitempty"`
	VLAN    *VLAN        `json:"vlan,omitempty"`
	VXLAN   *VXLAN       `json:"vxlan,omitempty"`
	Bridge  *LinuxBridge `json:"bridge,omitempty"`
	VRF     *VRF         `json:"vrf,omitempty"`
	Peer    string       `json:"peer,omitempty"`    // of a veth, if it is in the same namespace
	MACVLAN string       `json:"macvlan,omitempty"` // the mode
}

// Address is one address of a link.
type Address struct {
	Prefix netip.Prefix `json:"prefix"` // host bits kept
	// Dynamic addresses have a lifetime: someone (a DHCP server, a router) lent them.
	Dynamic bool `json:"dynamic,omitempty"`
	// Valid and Preferred are the seconds that a dynamic address had left; 0 for all others.
	Valid     int `json:"valid,omitempty"`
	Preferred int `json:"preferred,omitempty"`
	// Tentative addresses cannot be bound yet: duplicate address detection is under way.
	Tentative bool `json:"tentative,omitempty"`
	// Duplicate addresses are in use by another host; the kernel will not use them.
	Duplicate bool `json:"duplicate,omitempty"`
}

// Method reports how a link gets its addresses of one family, as far as the backend can know. The zero value is: not at all, or
// only as written in Addresses.
type Method struct {
	DHCP     bool `json:"dhcp,omitempty"`
	Autoconf bool `json:"autoconf,omitempty"` // IPv6 router advertisements
	// ClientID is the DHCP client id in NMState's words (ll, iaid+duid, or the id itself), DUID its DHCPv6 counterpart.
	ClientID string `json:"clientID,omitempty"`
	DUID     string `json:"duid,omitempty"`
	// AddrGenMode is eui64, stable-privacy or empty, for IPv6 only.
	AddrGenMode string `json:"addrGenMode,omitempty"`
	IgnoreDNS   bool   `json:"ignoreDNS,omitempty"` // what DHCP says of DNS is not used
}

// Bond is what a bond has of its own.
type Bond struct {
	Mode    string            `json:"mode"`
	Options map[string]string `json:"options,omitempty"` // NMState's names, words where it has words
	Ports   []string          `json:"ports,omitempty"`
}

// VLAN is what a VLAN device has of its own.
type VLAN struct {
	ID       int    `json:"id"`
	Protocol string `json:"protocol,omitempty"` // 802.1q, 802.1ad
}

// VXLAN is what a VXLAN device has of its own.
type VXLAN struct {
	ID     int    `json:"id"`
	Remote string `json:"remote,omitempty"`
	Port   int    `json:"port,omitempty"`
}

// LinuxBridge is what a Linux bridge has of its own.
type LinuxBridge struct {
	Ports []string `json:"ports,omitempty"`
	STP   bool     `json:"stp,omitempty"`
}

// VRF is what a VRF has of its own.
type VRF struct {
	Table uint32   `json:"table"`
	Ports []string `json:"ports,omitempty"`
}

// Route is one route of the kernel's tables other than local.
type Route struct {
	Destination netip.Prefix `json:"destination"`  // ::/0 and 0.0.0.0/0 are the defaults
	Via         netip.Addr   `json:"via,omitzero"` // invalid if on link
	Interface   string       `json:"interface,omitempty"`
	Metric      int          `json:"metric,omitempty"`
	Table       int          `json:"table"`          // 254 is main
	Type        string       `json:"type,omitempty"` // blackhole, unreachable, prohibit; empty for a plain one
	Source      netip.Addr   `json:"source,omitzero"`
	// Protocol is who made it: kernel, boot, static, dhcp, ra, or a number.
	Protocol string `json:"protocol,omitempty"`
}

// Rule is one routing rule.
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

// DNS is how the host resolves names.
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

// Bridge is one bridge of Open vSwitch.
type Bridge struct {
	Name          string            `json:"name"`
	Datapath      string            `json:"datapath,omitempty"` // system if empty
	FailMode      string            `json:"failMode,omitempty"`
	STP, RSTP     bool              `json:",omitempty"`
	McastSnooping bool              `json:"mcastSnooping,omitempty"`
	ExternalIDs   map[string]string `json:"externalIDs,omitempty"`
	OtherConfig   map[string]string `json:"otherConfig,omitempty"`
	Ports         []BridgePort      `json:"ports,omitempty"`
	// Drop are keys that must be in neither of the two maps. A bridge that was read has none.
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
	MAC         string            `json:"mac,omitempty"`  // wanted by the database, not necessarily what the device has
	MTU         int               `json:"mtu,omitempty"`  // wanted by the database
	Options     map[string]string `json:"options,omitempty"`
	ExternalIDs map[string]string `json:"externalIDs,omitempty"`
	OtherConfig map[string]string `json:"otherConfig,omitempty"`
	// Error is what Open vSwitch says is wrong with it; empty if nothing.
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

// LinkByAltName returns the link that has a name as an alternative one.
func (s *State) LinkByAltName(name string) (*Link, bool) {
	for i := range s.Links {
		if slices.Contains(s.Links[i].AltNames, name) {
			return &s.Links[i], true
		}
	}
	return nil, false
}

// LinkByMAC returns the network card whose permanent address, or failing that whose present one, is mac (lower case). What is
// stacked on a card has its address often, and is not meant.
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

// LinkByPCI returns the network card at a PCI address, in the form of sysfs. Of several at one address, as the ports of some
// adapters are, it is the first.
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

// Default reports whether the route is for all addresses, and leads somewhere.
func (r Route) Default() bool {
	return r.Type == "" && r.Destination.IsValid() && r.Destination.Bits() == 0
}
