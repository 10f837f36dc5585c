package v1

import "k8s.io/apimachinery/pkg/util/intstr"

// Bridge is an Open vSwitch bridge on one interface, whose addresses move to the bridge.
type Bridge struct {
	// name is the name of the bridge, and of the host's interface on it. The default is br-ex, which
	// OVN-Kubernetes uses.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Name string `json:"name,omitempty"`

	// uplink is the interface of the host to which the bridge is attached.
	Uplink Uplink `json:"uplink"`

	// mtu is the MTU of the bridge and the uplink in bytes. The default is that of the interface.
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=65535
	// +optional
	MTU int32 `json:"mtu,omitempty"`

	// ipv4 configures the host's IPv4 addresses. The default is DHCP if ipv6 is omitted too, otherwise
	// none.
	// +optional
	IPv4 *Addressing `json:"ipv4,omitempty"`

	// ipv6 configures the host's IPv6 addresses. The default is none.
	// +optional
	IPv6 *Addressing `json:"ipv6,omitempty"`

	// dnsServers are the addresses of name servers, the preferred one first. They may be ${name}.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=128
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`
}

// Uplink is the interface below a bridge: one of interface, macAddress, bond and auto.
type Uplink struct {
	// interface is the name of a network card.
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:MinLength=1
	// +optional
	Interface string `json:"interface,omitempty"`

	// macAddress is the MAC address of a network card, for hosts whose cards have different names. It may be ${name}.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:MinLength=1
	// +optional
	MACAddress string `json:"macAddress,omitempty"`

	// bond combines several network cards into one interface.
	// +optional
	Bond *Bond `json:"bond,omitempty"`

	// auto selects the network card on the host: DefaultRoute is the one with the default route at boot.
	// +kubebuilder:validation:Enum=DefaultRoute
	// +optional
	Auto Auto `json:"auto,omitempty"`

	// vlan attaches the bridge to a VLAN of the network card or bond.
	// +optional
	VLAN *VLAN `json:"vlan,omitempty"`
}

// Auto is the way in which a host selects its uplink.
type Auto string

// DefaultRoute selects the interface with the default route.
const DefaultRoute Auto = "DefaultRoute"

// Bond combines several network cards into one interface.
type Bond struct {
	// name is the name of the interface. The default is bond0.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Name string `json:"name,omitempty"`

	// mode is the bonding mode, as Linux names it.
	// +kubebuilder:validation:Enum=balance-rr;active-backup;balance-xor;broadcast;802.3ad;balance-tlb;balance-alb
	Mode string `json:"mode"`

	// ports are the names of the network cards.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=15
	Ports []string `json:"ports"`

	// options are options of Linux bonding, for example miimon: "100".
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Options map[string]string `json:"options,omitempty"`
}

// VLAN is a tagged network.
type VLAN struct {
	// id is the tag, or a ${name}.
	// +kubebuilder:validation:XIntOrString
	ID intstr.IntOrString `json:"id"`

	// name is the name of the interface. The default is that of the card or bond, a dot and the tag.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Name string `json:"name,omitempty"`
}

// Addressing configures the host's addresses of one IP family.
type Addressing struct {
	// method is DHCP (for IPv6 with router advertisements), Static or Disabled.
	// +kubebuilder:validation:Enum=DHCP;Static;Disabled
	Method Method `json:"method"`

	// address is the address with its prefix length, for example 192.0.2.10/24. It is usually a ${name}.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Address string `json:"address,omitempty"`

	// gateway is the next hop of the default route. It may be ${name}.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Gateway string `json:"gateway,omitempty"`
}

// Method is the source of addresses.
type Method string

// The methods.
const (
	DHCP     Method = "DHCP"
	Static   Method = "Static"
	Disabled Method = "Disabled"
)
