package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EgressRouter is a pod with an interface and an address on a network outside of the cluster. It forwards traffic of other pods with
// that source address to the configured destinations, which therefore see one known address.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=egressrouters,scope=Namespaced
// +kubebuilder:metadata:annotations="api-approved.openshift.io=https://github.com/openshift/api/pull/851"
// +kubebuilder:printcolumn:name="Condition",type=string,JSONPath=`.status.conditions[*].type`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[*].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.spec.addresses[*].ip`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EgressRouter struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired router.
	Spec EgressRouterSpec `json:"spec"`
	// status is the observed state of the router.
	// +optional
	Status EgressRouterStatus `json:"status,omitempty"`
}

// EgressRouterList is a list of EgressRouters.
//
// +kubebuilder:object:root=true
type EgressRouterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EgressRouter `json:"items"`
}

// EgressRouterSpec is the desired router: its interface, its addresses and its mode.
//
// +kubebuilder:validation:XValidation:rule="self.mode != 'Redirect' || has(self.redirect)",fieldPath=".redirect",message="is missing; mode Redirect needs redirectRules, a fallbackIP, or both"
// +kubebuilder:validation:XValidation:rule="self.addresses.size() < 2 || self.networkInterface.macvlan.mode != 'Passthru'",fieldPath=".networkInterface.macvlan.mode",message="Passthru gives the master to one interface, and each address has its own interface; use Bridge, Private or VEPA, or one address"
// +kubebuilder:validation:XValidation:rule="!has(self.redirect) || !has(self.redirect.redirectRules) || self.redirect.redirectRules.all(r, !isIP(r.destinationIP) || self.addresses.exists(a, !isCIDR(a.ip) || cidr(a.ip).ip().family() == ip(r.destinationIP).family()))",messageExpression="self.redirect.redirectRules.transformList(i, r, isIP(r.destinationIP) && !self.addresses.exists(a, !isCIDR(a.ip) || cidr(a.ip).ip().family() == ip(r.destinationIP).family()), 'spec.redirect.redirectRules[%d].destinationIP: \"%s\" is IPv%d, and the router has no IPv%d address; add one to spec.addresses, or remove the rule'.format([i, r.destinationIP, ip(r.destinationIP).family(), ip(r.destinationIP).family()]))[0]"
// +kubebuilder:validation:XValidation:rule="!has(self.redirect) || !has(self.redirect.fallbackIP) || !isIP(self.redirect.fallbackIP) || self.addresses.exists(a, !isCIDR(a.ip) || cidr(a.ip).ip().family() == ip(self.redirect.fallbackIP).family())",fieldPath=".redirect.fallbackIP",messageExpression="'\"%s\" is IPv%d, and the router has no IPv%d address; add one to spec.addresses, or remove the fallback'.format([self.redirect.fallbackIP, ip(self.redirect.fallbackIP).family(), ip(self.redirect.fallbackIP).family()])"
type EgressRouterSpec struct {
	// mode is the mode of the router. Redirect forwards connections to the destinations of redirect.
	// +kubebuilder:validation:Enum=Redirect
	// +kubebuilder:default=Redirect
	Mode EgressRouterMode `json:"mode"`

	// redirect configures the destinations in the mode Redirect.
	// +optional
	Redirect *RedirectConfig `json:"redirect,omitempty"`

	// networkInterface is the router's interface on the external network.
	// +kubebuilder:default={macvlan: {mode: Bridge}}
	NetworkInterface EgressRouterInterface `json:"networkInterface"`

	// addresses are the router's addresses on the external network: one IPv4 address, one IPv6 address, or one of each.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="is empty; the router needs at least one address, e.g. {ip: 192.168.12.99/24, gateway: 192.168.12.1}"
	// +kubebuilder:validation:XValidation:rule="!self.exists(i, a, self.exists(j, b, i < j && isCIDR(a.ip) && isCIDR(b.ip) && cidr(a.ip).ip().family() == cidr(b.ip).ip().family()))",messageExpression="self.transformList(i, a, self.exists(j, b, i < j && isCIDR(a.ip) && isCIDR(b.ip) && cidr(a.ip).ip().family() == cidr(b.ip).ip().family()), 'there may be at most one address per family, and %s is not the only one of IPv%d; remove the others, and create a router for each of them'.format([a.ip, cidr(a.ip).ip().family()]))[0]"
	Addresses []EgressRouterAddress `json:"addresses"`
}

// EgressRouterMode is the mode of a router.
type EgressRouterMode string

// EgressRouterModeRedirect forwards connections to other destinations.
const EgressRouterModeRedirect EgressRouterMode = "Redirect"

// RedirectConfig configures the destinations of a router.
//
// +kubebuilder:validation:XValidation:rule="(has(self.redirectRules) && self.redirectRules.size() > 0) || (has(self.fallbackIP) && self.fallbackIP != \"\")",message="has neither redirectRules nor a fallbackIP, so that nothing would be sent on; add a rule for each port, a fallbackIP for all ports, or both"
type RedirectConfig struct {
	// redirectRules are the destinations of connections, by port. Connections to ports without a rule go to fallbackIP.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="!self.exists(i, a, self.exists(j, b, i < j && a.port == b.port && a.protocol == b.protocol && a.destinationIP.contains(':') == b.destinationIP.contains(':')))",messageExpression="self.transformList(i, a, self.exists(j, b, i < j && a.port == b.port && a.protocol == b.protocol && a.destinationIP.contains(':') == b.destinationIP.contains(':')), '%s port %d is redirected more than once, and only the first rule counts; remove all but one'.format([a.protocol, a.port]))[0]"
	// +optional
	RedirectRules []L4RedirectRule `json:"redirectRules,omitempty"`

	// fallbackIP is the destination of connections to ports without a rule; the port stays the same. It is an IPv4 or an IPv6 address, and
	// applies to that family. Without one, connections to such ports are refused.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == \"\" || isIP(self)",messageExpression="'\"%s\" is not an IP address; write one without a prefix or a port, e.g. 203.0.113.26'.format([self])"
	// +kubebuilder:validation:XValidation:rule="!isIP(self) || ip(self).isGlobalUnicast()",messageExpression="'\"%s\" cannot be reached through a router; write a unicast address that is not loopback or link-local, e.g. 203.0.113.26'.format([self])"
	// +optional
	FallbackIP string `json:"fallbackIP,omitempty"`
}

// L4RedirectRule forwards connections on one port to a destination.
//
// +kubebuilder:validation:XValidation:rule="!has(self.targetPort) || self.targetPort == self.port || !self.destinationIP.contains(':')",fieldPath=".targetPort",messageExpression="'%d differs from port %d, which the egress-router plug-in cannot do for an IPv6 destination: it would send to another address. Remove targetPort, or use the same port'.format([self.targetPort, self.port])"
type L4RedirectRule struct {
	// destinationIP is the destination: an IPv4 or an IPv6 address, for connections of that family.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isIP(self)",messageExpression="'\"%s\" is not an IP address; write one without a prefix or a port, e.g. 203.0.113.26'.format([self])"
	// +kubebuilder:validation:XValidation:rule="!isIP(self) || ip(self).isGlobalUnicast()",messageExpression="'\"%s\" cannot be reached through a router; write a unicast address that is not loopback or link-local, e.g. 203.0.113.26'.format([self])"
	DestinationIP string `json:"destinationIP"`

	// port is the port of the router that clients connect to.
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535",messageExpression="'%d is not a port; use 1 to 65535. To send all ports to one destination, use fallbackIP'.format([self])"
	Port int32 `json:"port"`

	// protocol is TCP, UDP or SCTP.
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	Protocol ProtocolType `json:"protocol"`

	// targetPort is the port of the destination. The default is port. For an IPv6 destination it must equal port.
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535",messageExpression="'%d is not a port; use 1 to 65535, or leave it out to use port'.format([self])"
	// +optional
	TargetPort int32 `json:"targetPort,omitempty"`
}

// ProtocolType is the protocol of a connection.
type ProtocolType string

// The protocols.
const (
	ProtocolTypeTCP  ProtocolType = "TCP"
	ProtocolTypeUDP  ProtocolType = "UDP"
	ProtocolTypeSCTP ProtocolType = "SCTP"
)

// EgressRouterInterface is a router's interface on the external network.
type EgressRouterInterface struct {
	// macvlan creates an interface with its own MAC address on an interface of the node.
	// +kubebuilder:default={mode: Bridge}
	Macvlan MacvlanConfig `json:"macvlan"`
}

// MacvlanMode is the macvlan mode, as Linux names it.
type MacvlanMode string

// The modes.
const (
	// MacvlanModeBridge connects interfaces of the same master within the node.
	MacvlanModeBridge MacvlanMode = "Bridge"
	// MacvlanModePrivate does not connect interfaces of the same master.
	MacvlanModePrivate MacvlanMode = "Private"
	// MacvlanModeVEPA connects interfaces of the same master through the switch, if that supports hairpin mode.
	MacvlanModeVEPA MacvlanMode = "VEPA"
	// MacvlanModePassthru gives the master to one interface.
	MacvlanModePassthru MacvlanMode = "Passthru"
)

// MacvlanConfig is a macvlan interface.
type MacvlanConfig struct {
	// mode is how interfaces of the same master are connected: Bridge within the node, VEPA through the switch, Private not at
	// all; with Passthru the master has one interface only.
	// +kubebuilder:validation:Enum=Bridge;Private;VEPA;Passthru
	// +kubebuilder:default=Bridge
	Mode MacvlanMode `json:"mode"`

	// master is the name of the node's interface. The default is that of the node's default route.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^[:space:]/:]{0,15}$') && !(self in ['.', '..'])",messageExpression="'\"%s\" is not the name of an interface; it has at most 15 characters without slash, colon or space, e.g. eth1'.format([self])"
	// +optional
	Master string `json:"master,omitempty"`
}

// EgressRouterAddress is an address on the external network, and its gateway.
//
// +kubebuilder:validation:XValidation:rule="has(self.gateway) && self.gateway != \"\"",fieldPath=".gateway",messageExpression="'is missing; write the address of the router of the network of %s, since everything that the pod sends goes there'.format([self.ip])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || !isCIDR(self.ip) || ip(self.gateway).family() == cidr(self.ip).ip().family()",fieldPath=".gateway",messageExpression="'\"%s\" is IPv%d, and the address %s is IPv%d; write a gateway of the same family'.format([self.gateway, ip(self.gateway).family(), self.ip, cidr(self.ip).ip().family()])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || !isCIDR(self.ip) || ip(self.gateway).family() != cidr(self.ip).ip().family() || cidr(self.ip).containsIP(self.gateway) || (ip(self.gateway).family() == 6 && ip(self.gateway).isLinkLocalUnicast())",fieldPath=".gateway",messageExpression="'\"%s\" is not inside %s; write the address that the router has in that network%s'.format([self.gateway, string(cidr(self.ip).masked()), cidr(self.ip).ip().family() == 6 ? ', or its link-local one' : \"\"])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || !isCIDR(self.ip) || !(ip(self.gateway) == cidr(self.ip).ip())",fieldPath=".gateway",messageExpression="'\"%s\" is the address of this router itself; write that of the next one'.format([self.gateway])"
type EgressRouterAddress struct {
	// ip is the address with its prefix length, for example 192.168.12.99/24.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",messageExpression="'\"%s\" is not a CIDR; %s'.format([self, isIP(self) ? 'add the length of the prefix of its network, e.g. %s/%s'.format([self, self.contains(':') ? '64' : '24']) : 'write an address and the length of the prefix of its network, e.g. 192.168.12.99/24'])"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().isGlobalUnicast()",messageExpression="'\"%s\" cannot be the address of a router; write a unicast address that is not loopback or link-local, e.g. 192.168.12.99/24'.format([self])"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || !cidr(self).ip().isGlobalUnicast() || cidr(self).prefixLength() >= (cidr(self).ip().family() == 4 ? 31 : 127) || !(cidr(self) == cidr(self).masked())",messageExpression="'\"%s\" is the network, not an address in it; write the one that the router is to have'.format([self])"
	IP string `json:"ip"`

	// gateway is the next hop on that network.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == \"\" || isIP(self)",messageExpression="'\"%s\" is not an IP address; write that of the router of the network, without a prefix, e.g. 192.168.12.1'.format([self])"
	// +optional
	Gateway string `json:"gateway,omitempty"`
}
