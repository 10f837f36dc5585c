package v1

import "k8s.io/apimachinery/pkg/util/intstr"

// Bridge is a bridge of Open vSwitch on one interface, which passes its addresses on to the bridge.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ipv4) || self.ipv4.method != 'Static' || !has(self.ipv4.address) || self.ipv4.address.contains('${') || (isCIDR(self.ipv4.address) && cidr(self.ipv4.address).ip().family() == 4)",fieldPath=".ipv4.address",messageExpression="'\"%s\" is not an IPv4 address with a prefix; write for example 192.0.2.10/24'.format([self.ipv4.address])"
// +kubebuilder:validation:XValidation:rule="!has(self.ipv6) || self.ipv6.method != 'Static' || !has(self.ipv6.address) || self.ipv6.address.contains('${') || (isCIDR(self.ipv6.address) && cidr(self.ipv6.address).ip().family() == 6)",fieldPath=".ipv6.address",messageExpression="'\"%s\" is not an IPv6 address with a prefix; write for example 2001:db8::10/64'.format([self.ipv6.address])"
type Bridge struct {
	// name is that of the bridge, and of the interface of the host on it. br-ex if left out, which is the one that
	// OVN-Kubernetes uses.
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_.-]+$')",messageExpression="'\"%s\" is not a name of an interface'.format([self])"
	// +optional
	Name string `json:"name,omitempty"`

	// uplink is the interface of the host that the bridge is on.
	Uplink Uplink `json:"uplink"`

	// mtu is the largest packet in bytes, on the bridge and the uplink. The interface's own if left out.
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=65535
	// +optional
	MTU int32 `json:"mtu,omitempty"`

	// ipv4 is how the host gets its IPv4 addresses. By DHCP if neither ipv4 nor ipv6 is there, not at all if only
	// ipv6 is.
	// +optional
	IPv4 *Addressing `json:"ipv4,omitempty"`

	// ipv6 is how the host gets its IPv6 addresses. Not at all if left out.
	// +optional
	IPv6 *Addressing `json:"ipv6,omitempty"`

	// dnsServers are the addresses of name servers, the best first. They may be ${name}.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=128
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`
}

// Uplink is the interface below a bridge: one of the four.
//
// +kubebuilder:validation:XValidation:rule="[has(self.interface), has(self.macAddress), has(self.bond), has(self.auto)].filter(x, x).size() == 1",message="write one of interface, macAddress, bond and auto"
// +kubebuilder:validation:XValidation:rule="!has(self.vlan) || !has(self.auto)",message="vlan needs an interface, a macAddress or a bond below it; the interface with the default route may be a VLAN already"
type Uplink struct {
	// interface is the name of a network card.
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:MinLength=1
	// +optional
	Interface string `json:"interface,omitempty"`

	// macAddress is the hardware address of a network card, for hosts whose cards have different names. It may be ${name}.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:MinLength=1
	// +optional
	MACAddress string `json:"macAddress,omitempty"`

	// bond makes one interface of several network cards.
	// +optional
	Bond *Bond `json:"bond,omitempty"`

	// auto takes the card that the host finds itself: DefaultRoute is the one with the default route at boot.
	// +kubebuilder:validation:Enum=DefaultRoute
	// +optional
	Auto Auto `json:"auto,omitempty"`

	// vlan puts the bridge on a VLAN of the card or bond.
	// +optional
	VLAN *VLAN `json:"vlan,omitempty"`
}

// Auto is how a host finds its uplink.
type Auto string

// DefaultRoute takes the interface with the default route.
const DefaultRoute Auto = "DefaultRoute"

// Bond is several network cards as one.
type Bond struct {
	// name is that of the interface. bond0 if left out.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Name string `json:"name,omitempty"`

	// mode is how the cards are used, in the words of Linux.
	// +kubebuilder:validation:Enum=balance-rr;active-backup;balance-xor;broadcast;802.3ad;balance-tlb;balance-alb
	Mode string `json:"mode"`

	// ports are the names of the network cards.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=15
	Ports []string `json:"ports"`

	// options are those of Linux's bonding, for example miimon: "100".
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

	// name is that of the interface. That of the card or bond, a dot and the tag if left out.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Name string `json:"name,omitempty"`
}

// Addressing is how a host gets the addresses of one family.
//
// +kubebuilder:validation:XValidation:rule="(self.method == 'Static') == has(self.address)",messageExpression="self.method == 'Static' ? 'method is Static, which needs an address' : 'address is set but method is %s; remove one'.format([self.method])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || self.method == 'Static'",messageExpression="'gateway is set but method is %s; remove one'.format([self.method])"
type Addressing struct {
	// method is DHCP (for IPv6 with router advertisements), Static or Disabled.
	// +kubebuilder:validation:Enum=DHCP;Static;Disabled
	Method Method `json:"method"`

	// address is the address with the length of its prefix, for example 192.0.2.10/24. It is usually a ${name}.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Address string `json:"address,omitempty"`

	// gateway is the address of the router of the default route. It may be ${name}.
	// +kubebuilder:validation:XValidation:rule="self.contains('${') || isIP(self)",messageExpression="'\"%s\" is not an IP address; write one without a prefix, for example 192.0.2.1'.format([self])"
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Gateway string `json:"gateway,omitempty"`
}

// Method is how addresses come.
type Method string

// The methods.
const (
	DHCP     Method = "DHCP"
	Static   Method = "Static"
	Disabled Method = "Disabled"
)
