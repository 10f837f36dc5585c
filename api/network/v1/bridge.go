package v1

import "k8s.io/apimachinery/pkg/util/intstr"

// Bridge is an Open vSwitch bridge on one interface, whose addresses move to the bridge.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ipv4) || self.ipv4.method != 'Static' || !has(self.ipv4.address) || self.ipv4.address.contains('${') || (isCIDR(self.ipv4.address) && cidr(self.ipv4.address).ip().family() == 4)",fieldPath=".ipv4.address",messageExpression="'\"%s\" is not an IPv4 address with a prefix; write for example 192.0.2.10/24'.format([self.ipv4.address])"
// +kubebuilder:validation:XValidation:rule="!has(self.ipv6) || self.ipv6.method != 'Static' || !has(self.ipv6.address) || self.ipv6.address.contains('${') || (isCIDR(self.ipv6.address) && cidr(self.ipv6.address).ip().family() == 6)",fieldPath=".ipv6.address",messageExpression="'\"%s\" is not an IPv6 address with a prefix; write for example 2001:db8::10/64'.format([self.ipv6.address])"
type Bridge struct {
	// name is the name of the bridge, and of the host's interface on it. The default is br-ex, which
	// OVN-Kubernetes uses.
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_.-]+$')",messageExpression="'\"%s\" is not a name of an interface'.format([self])"
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
//
// +kubebuilder:validation:XValidation:rule="[has(self.interface), has(self.macAddress), has(self.bond), has(self.auto)].filter(x, x).size() == 1",message="write one of interface, macAddress, bond and auto"
// +kubebuilder:validation:XValidation:rule="!has(self.vlan) || !has(self.auto)",message="vlan needs an interface, a macAddress or a bond below it; the interface with the default route may be a VLAN already"
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
	// +kubebuilder:validation:XValidation:rule="type(self) == string || (self >= 1 && self <= 4094)",messageExpression="'%d is not a VLAN; use 1 to 4094'.format([self])"
	ID intstr.IntOrString `json:"id"`

	// name is the name of the interface. The default is that of the card or bond, a dot and the tag.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Name string `json:"name,omitempty"`
}

// Addressing configures the host's addresses of one IP family.
//
// +kubebuilder:validation:XValidation:rule="(self.method == 'Static') == has(self.address)",messageExpression="self.method == 'Static' ? 'method is Static, which needs an address' : 'address is set but method is %s; remove one'.format([self.method])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || self.method == 'Static'",messageExpression="'gateway is set but method is %s; remove one'.format([self.method])"
type Addressing struct {
	// method is DHCP (for IPv6 with router advertisements), Static or Disabled.
	// +kubebuilder:validation:Enum=DHCP;Static;Disabled
	Method Method `json:"method"`

	// address is the address with its prefix length, for example 192.0.2.10/24. It is usually a ${name}.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Address string `json:"address,omitempty"`

	// gateway is the next hop of the default route. It may be ${name}.
	// +kubebuilder:validation:XValidation:rule="self.contains('${') || isIP(self)",messageExpression="'\"%s\" is not an IP address; write one without a prefix, for example 192.0.2.1'.format([self])"
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
