package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EgressRouter is a pod with an interface, and an address, on a network outside of the cluster. What other pods send to it leaves with
// that address, to the destinations that are named here: so those see one known address, whichever pod asks.
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

	// spec is the router that is wanted.
	Spec EgressRouterSpec `json:"spec"`
	// status says what became of it.
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

// EgressRouterSpec is the router that is wanted: its interface, its addresses, and what it does.
//
// +kubebuilder:validation:XValidation:rule="self.mode != 'Redirect' || has(self.redirect)",fieldPath=".redirect",message="is missing; mode Redirect needs redirectRules, a fallbackIP, or both"
// +kubebuilder:validation:XValidation:rule="self.addresses.size() < 2 || self.networkInterface.macvlan.mode != 'Passthru'",fieldPath=".networkInterface.macvlan.mode",message="Passthru gives the master to one interface, and each address has an interface of its own; use Bridge, Private or VEPA, or one address"
// +kubebuilder:validation:XValidation:rule="!has(self.redirect) || !has(self.redirect.redirectRules) || self.redirect.redirectRules.all(r, !isIP(r.destinationIP) || self.addresses.exists(a, !isCIDR(a.ip) || cidr(a.ip).ip().family() == ip(r.destinationIP).family()))",messageExpression="self.redirect.redirectRules.transformList(i, r, isIP(r.destinationIP) && !self.addresses.exists(a, !isCIDR(a.ip) || cidr(a.ip).ip().family() == ip(r.destinationIP).family()), 'spec.redirect.redirectRules[%d].destinationIP: \"%s\" is IPv%d, and the router has no IPv%d address; add one to spec.addresses, or remove the rule'.format([i, r.destinationIP, ip(r.destinationIP).family(), ip(r.destinationIP).family()]))[0]"
// +kubebuilder:validation:XValidation:rule="!has(self.redirect) || !has(self.redirect.fallbackIP) || !isIP(self.redirect.fallbackIP) || self.addresses.exists(a, !isCIDR(a.ip) || cidr(a.ip).ip().family() == ip(self.redirect.fallbackIP).family())",fieldPath=".redirect.fallbackIP",messageExpression="'\"%s\" is IPv%d, and the router has no IPv%d address; add one to spec.addresses, or remove the fallback'.format([self.redirect.fallbackIP, ip(self.redirect.fallbackIP).family(), ip(self.redirect.fallbackIP).family()])"
type EgressRouterSpec struct {
	// mode is what the router does. Redirect sends what arrives on, to the destinations of redirect.
	// +kubebuilder:validation:Enum=Redirect
	// +kubebuilder:default=Redirect
	Mode EgressRouterMode `json:"mode"`

	// redirect says where the router sends what arrives, in the mode Redirect.
	// +optional
	Redirect *RedirectConfig `json:"redirect,omitempty"`

	// networkInterface is how the router is connected to the network outside.
	// +kubebuilder:default={macvlan: {mode: Bridge}}
	NetworkInterface EgressRouterInterface `json:"networkInterface"`

	// addresses are those of the router in the network outside: one IPv4 address, one IPv6 address, or one of each.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="is empty; the router needs at least one address, e.g. {ip: 192.168.12.99/24, gateway: 192.168.12.1}"
	// +kubebuilder:validation:XValidation:rule="!self.exists(i, a, self.exists(j, b, i < j && isCIDR(a.ip) && isCIDR(b.ip) && cidr(a.ip).ip().family() == cidr(b.ip).ip().family()))",messageExpression="self.transformList(i, a, self.exists(j, b, i < j && isCIDR(a.ip) && isCIDR(b.ip) && cidr(a.ip).ip().family() == cidr(b.ip).ip().family()), 'there may be at most one address per family, and %s is not the only one of IPv%d; remove the others, and make a router for each of them'.format([a.ip, cidr(a.ip).ip().family()]))[0]"
	Addresses []EgressRouterAddress `json:"addresses"`
}

// EgressRouterMode is what a router does.
type EgressRouterMode string

// EgressRouterModeRedirect sends what arrives on to other destinations.
const EgressRouterModeRedirect EgressRouterMode = "Redirect"

// RedirectConfig says where a router sends what arrives.
//
// +kubebuilder:validation:XValidation:rule="(has(self.redirectRules) && self.redirectRules.size() > 0) || (has(self.fallbackIP) && self.fallbackIP != \"\")",message="has neither redirectRules nor a fallbackIP, so that nothing would be sent on; add a rule for each port, a fallbackIP for all ports, or both"
type RedirectConfig struct {
	// redirectRules say for one port each where connections to it are sent. Ports without a rule are sent to fallbackIP.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="!self.exists(i, a, self.exists(j, b, i < j && a.port == b.port && a.protocol == b.protocol && a.destinationIP.contains(':') == b.destinationIP.contains(':')))",messageExpression="self.transformList(i, a, self.exists(j, b, i < j && a.port == b.port && a.protocol == b.protocol && a.destinationIP.contains(':') == b.destinationIP.contains(':')), '%s port %d is redirected more than once, and only the first rule counts; remove all but one'.format([a.protocol, a.port]))[0]"
	// +optional
	RedirectRules []L4RedirectRule `json:"redirectRules,omitempty"`

	// fallbackIP is where everything is sent that no rule names, on the port that it came for: an IPv4 or an IPv6 address, and it is for
	// that family. Without one, connections to such ports are refused.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == \"\" || isIP(self)",messageExpression="'\"%s\" is not an IP address; write one without a prefix or a port, e.g. 203.0.113.26'.format([self])"
	// +kubebuilder:validation:XValidation:rule="!isIP(self) || ip(self).isGlobalUnicast()",messageExpression="'\"%s\" cannot be reached through a router; write a unicast address that is not loopback or link-local, e.g. 203.0.113.26'.format([self])"
	// +optional
	FallbackIP string `json:"fallbackIP,omitempty"`
}

// L4RedirectRule sends connections to one port to a destination.
//
// +kubebuilder:validation:XValidation:rule="!has(self.targetPort) || self.targetPort == self.port || !self.destinationIP.contains(':')",fieldPath=".targetPort",messageExpression="'%d differs from port %d, which the egress-router plug-in cannot do for an IPv6 destination: it would send to another address. Remove targetPort, or use the same port'.format([self.targetPort, self.port])"
type L4RedirectRule struct {
	// destinationIP is where connections are sent: an IPv4 or an IPv6 address, for connections of that family.
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

	// targetPort is the port of the destination. The same as port if left out. An IPv6 destination has no other.
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

// EgressRouterInterface is how a router is connected to the network outside.
type EgressRouterInterface struct {
	// macvlan makes an interface with a hardware address of its own on one of the node's.
	// +kubebuilder:default={mode: Bridge}
	Macvlan MacvlanConfig `json:"macvlan"`
}

// MacvlanMode says how interfaces on one of the node's reach one another, in the words of Linux.
type MacvlanMode string

// The modes.
const (
	// MacvlanModeBridge lets them reach one another inside the node.
	MacvlanModeBridge MacvlanMode = "Bridge"
	// MacvlanModePrivate does not let them.
	MacvlanModePrivate MacvlanMode = "Private"
	// MacvlanModeVEPA lets them by way of the switch, if that sends back what it gets.
	MacvlanModeVEPA MacvlanMode = "VEPA"
	// MacvlanModePassthru gives the node's interface to one alone.
	MacvlanModePassthru MacvlanMode = "Passthru"
)

// MacvlanConfig is an interface of macvlan.
type MacvlanConfig struct {
	// mode says how interfaces on one of the node's reach one another: Bridge inside the node, VEPA by way of the switch, Private not at
	// all; with Passthru there is one alone.
	// +kubebuilder:validation:Enum=Bridge;Private;VEPA;Passthru
	// +kubebuilder:default=Bridge
	Mode MacvlanMode `json:"mode"`

	// master is the name of the node's interface. The one of the node's default route if left out.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^[:space:]/:]{0,15}$') && !(self in ['.', '..'])",messageExpression="'\"%s\" is not the name of an interface; it has at most 15 characters without slash, colon or space, e.g. eth1'.format([self])"
	// +optional
	Master string `json:"master,omitempty"`
}

// EgressRouterAddress is an address in the network outside, and the way out of that network.
//
// +kubebuilder:validation:XValidation:rule="has(self.gateway) && self.gateway != \"\"",fieldPath=".gateway",messageExpression="'is missing; write the address of the router of the network of %s, since everything that the pod sends goes there'.format([self.ip])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || !isCIDR(self.ip) || ip(self.gateway).family() == cidr(self.ip).ip().family()",fieldPath=".gateway",messageExpression="'\"%s\" is IPv%d, and the address %s is IPv%d; write a gateway of the same family'.format([self.gateway, ip(self.gateway).family(), self.ip, cidr(self.ip).ip().family()])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || !isCIDR(self.ip) || ip(self.gateway).family() != cidr(self.ip).ip().family() || cidr(self.ip).containsIP(self.gateway) || (ip(self.gateway).family() == 6 && ip(self.gateway).isLinkLocalUnicast())",fieldPath=".gateway",messageExpression="'\"%s\" is not inside %s; write the address that the router has in that network%s'.format([self.gateway, string(cidr(self.ip).masked()), cidr(self.ip).ip().family() == 6 ? ', or its link-local one' : \"\"])"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isIP(self.gateway) || !isCIDR(self.ip) || !(ip(self.gateway) == cidr(self.ip).ip())",fieldPath=".gateway",messageExpression="'\"%s\" is the address of this router itself; write that of the next one'.format([self.gateway])"
type EgressRouterAddress struct {
	// ip is the address with the length of its network's prefix, for example 192.168.12.99/24.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",messageExpression="'\"%s\" is not a CIDR; %s'.format([self, isIP(self) ? 'add the length of the prefix of its network, e.g. %s/%s'.format([self, self.contains(':') ? '64' : '24']) : 'write an address and the length of the prefix of its network, e.g. 192.168.12.99/24'])"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().isGlobalUnicast()",messageExpression="'\"%s\" cannot be the address of a router; write a unicast address that is not loopback or link-local, e.g. 192.168.12.99/24'.format([self])"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || !cidr(self).ip().isGlobalUnicast() || cidr(self).prefixLength() >= (cidr(self).ip().family() == 4 ? 31 : 127) || !(cidr(self) == cidr(self).masked())",messageExpression="'\"%s\" is the network, not an address in it; write the one that the router is to have'.format([self])"
	IP string `json:"ip"`

	// gateway is the address of the next router of that network.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == \"\" || isIP(self)",messageExpression="'\"%s\" is not an IP address; write that of the router of the network, without a prefix, e.g. 192.168.12.1'.format([self])"
	// +optional
	Gateway string `json:"gateway,omitempty"`
}
