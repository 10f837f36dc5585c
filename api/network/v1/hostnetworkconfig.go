package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// HostNetworkConfig is the network of the hosts of one role, from which the files that nodes apply at their first
// boot, and what bare-metal hosts are booted with before that, are made.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=hostnetworkconfigs,scope=Cluster,shortName=hostnet,categories=cno
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Role,type=string,JSONPath=`.spec.role`,description="The role whose nodes are configured"
// +kubebuilder:printcolumn:name=Valid,type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`,description="Whether documents could be made"
// +kubebuilder:printcolumn:name=Rendered,type=string,JSONPath=`.status.conditions[?(@.type=="Rendered")].status`,description="Whether the objects that bring them to the nodes are there"
// +kubebuilder:printcolumn:name=Nodes,type=integer,JSONPath=`.status.nodes`,description="How many nodes have the role"
// +kubebuilder:printcolumn:name=Applied,type=integer,JSONPath=`.status.appliedNodes`,description="How many of them say that they have applied their document"
// +kubebuilder:printcolumn:name=Failed,type=integer,JSONPath=`.status.failedNodes`,description="How many of them say that they could not"
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type HostNetworkConfig struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the network that is wanted.
	Spec HostNetworkConfigSpec `json:"spec"`
	// status says what was made of it, and what the nodes say.
	// +optional
	Status HostNetworkConfigStatus `json:"status,omitempty"`
}

// HostNetworkConfigList is a list of HostNetworkConfig objects.
//
// +kubebuilder:object:root=true
type HostNetworkConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []HostNetworkConfig `json:"items"`
}

// HostNetworkConfigSpec is the network of the hosts of a role.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) || has(self.bridge) || has(self.hosts)",message="nothing is configured; write a template, a bridge, or hosts"
type HostNetworkConfigSpec struct {
	// role is the role of the nodes: master, worker, or the name of a pool. One HostNetworkConfig configures a role.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"%s\" is not a role; write the last part of a node-role.kubernetes.io label, for example worker'.format([self])"
	Role string `json:"role"`

	// phases are when the configuration is used: PreBoot, by the image that a bare-metal host is installed from, and
	// FirstBoot, by the installed system before the kubelet starts. What PreBoot needs is derived: bridges of Open vSwitch
	// are left out, and their addresses move to the interface below. FirstBoot alone if left out.
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:MinItems=1
	// +optional
	Phases []Phase `json:"phases,omitempty"`

	// values are what ${name} stands for in template, bridge and desiredState, for hosts that give no value of their own.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Values map[string]string `json:"values,omitempty"`

	// template is NMState's desired state for all hosts. A text may hold ${name}: a value, or ${host}, the
	// short name of the host; $${ is a plain ${. Of a value in CIDR notation, ${name.ip} and ${name.prefix} are the parts.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`

	// bridge adds a bridge of Open vSwitch on one interface, with the addresses on the bridge.
	// +optional
	Bridge *Bridge `json:"bridge,omitempty"`

	// withoutBridge says that the network of the cluster needs no br-ex, as all but OVN-Kubernetes do. Without it, a document
	// that does not make br-ex is refused: a node that has one gets no br-ex by itself.
	// +optional
	WithoutBridge bool `json:"withoutBridge,omitempty"`

	// hosts are those that have values, or a state, of their own.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=2000
	// +optional
	Hosts []Host `json:"hosts,omitempty"`
}

// Phase is a time in the life of a host.
//
// +kubebuilder:validation:Enum=PreBoot;FirstBoot
type Phase string

// The phases.
const (
	PreBoot   Phase = "PreBoot"
	FirstBoot Phase = "FirstBoot"
)

// Host is one host of the role.
type Host struct {
	// name is the short or the full name of the host. The part before the first dot must be unique in the cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",messageExpression="'\"%s\" is not a host name; use lower-case letters, digits, - and dots'.format([self])"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(cluster|localhost)([.]|$)')",messageExpression="'a host must not be called \"%s\", which is not the name of one host'.format([self])"
	Name string `json:"name"`

	// macAddresses are hardware addresses of the host, by any of which it is recognized if its name is not
	// known yet, or is another one.
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +optional
	MACAddresses []MACAddress `json:"macAddresses,omitempty"`

	// bareMetalHost is the name of the BareMetalHost object, for the phase PreBoot. The short name if left out.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	BareMetalHost string `json:"bareMetalHost,omitempty"`

	// values are those of this host. They take the place of those of the same name for all hosts.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Values map[string]string `json:"values,omitempty"`

	// desiredState is NMState's desired state for this host, and may hold ${name} as the template does.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	DesiredState *runtime.RawExtension `json:"desiredState,omitempty"`

	// strategy says what desiredState does to template and bridge: with Replace it takes their place; with Merge it is
	// laid over them, interfaces by name and type, maps by key, and everything else as a whole. Replace if left out.
	// +kubebuilder:validation:Enum=Replace;Merge
	// +optional
	Strategy Strategy `json:"strategy,omitempty"`
}

// MACAddress is six bytes in hexadecimal, with colons.
//
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$')",messageExpression="'\"%s\" is not a MAC address; write six bytes, for example 52:54:00:12:34:56'.format([self])"
type MACAddress string

// Strategy says how the state of a host meets that of all hosts.
type Strategy string

// The strategies.
const (
	Replace Strategy = "Replace"
	Merge   Strategy = "Merge"
)
