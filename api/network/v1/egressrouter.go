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
	Addresses []EgressRouterAddress `json:"addresses"`
}

// EgressRouterMode is the mode of a router.
type EgressRouterMode string

// EgressRouterModeRedirect forwards connections to other destinations.
const EgressRouterModeRedirect EgressRouterMode = "Redirect"

// RedirectConfig configures the destinations of a router.
type RedirectConfig struct {
	// redirectRules are the destinations of connections, by port. Connections to ports without a rule go to fallbackIP.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +optional
	RedirectRules []L4RedirectRule `json:"redirectRules,omitempty"`

	// fallbackIP is the destination of connections to ports without a rule; the port stays the same. It is an IPv4 or an IPv6 address, and
	// applies to that family. Without one, connections to such ports are refused.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	FallbackIP string `json:"fallbackIP,omitempty"`
}

// L4RedirectRule forwards connections on one port to a destination.
type L4RedirectRule struct {
	// destinationIP is the destination: an IPv4 or an IPv6 address, for connections of that family.
	// +kubebuilder:validation:MaxLength=64
	DestinationIP string `json:"destinationIP"`

	// port is the port of the router that clients connect to.
	Port int32 `json:"port"`

	// protocol is TCP, UDP or SCTP.
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	Protocol ProtocolType `json:"protocol"`

	// targetPort is the port of the destination. The default is port. For an IPv6 destination it must equal port.
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
	// +optional
	Master string `json:"master,omitempty"`
}

// EgressRouterAddress is an address on the external network, and its gateway.
type EgressRouterAddress struct {
	// ip is the address with its prefix length, for example 192.168.12.99/24.
	// +kubebuilder:validation:MaxLength=64
	IP string `json:"ip"`

	// gateway is the next hop on that network.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Gateway string `json:"gateway,omitempty"`
}
