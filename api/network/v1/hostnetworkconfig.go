package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// HostNetworkConfig is the network configuration of the hosts of one role. The files that nodes apply at their first
// boot, and the boot images of bare-metal hosts, are rendered from it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=hostnetworkconfigs,scope=Cluster,shortName=hostnet,categories=cno
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Role,type=string,JSONPath=`.spec.role`,description="The role whose nodes are configured"
// +kubebuilder:printcolumn:name=Valid,type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`,description="Whether the configuration is valid"
// +kubebuilder:printcolumn:name=Rendered,type=string,JSONPath=`.status.conditions[?(@.type=="Rendered")].status`,description="Whether the objects that copy them to the nodes exist"
// +kubebuilder:printcolumn:name=Nodes,type=integer,JSONPath=`.status.nodes`,description="How many nodes have the role"
// +kubebuilder:printcolumn:name=Applied,type=integer,JSONPath=`.status.appliedNodes`,description="Number of nodes that have applied their document"
// +kubebuilder:printcolumn:name=Failed,type=integer,JSONPath=`.status.failedNodes`,description="Number of nodes that could not apply their document"
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type HostNetworkConfig struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired network.
	Spec HostNetworkConfigSpec `json:"spec"`
	// status is the observed state: the rendered objects, and the reports of nodes.
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

// HostNetworkConfigSpec is the desired network of the hosts of a role.
type HostNetworkConfigSpec struct {
	// role is the role of the nodes: master, worker, or the name of a pool. A role has one HostNetworkConfig.
	// +kubebuilder:validation:MaxLength=63
	Role string `json:"role"`

	// phases determine when the configuration is used: PreBoot, by the image from which a bare-metal host is installed, and
	// FirstBoot, by the installed system before the kubelet starts. The document for PreBoot is derived: bridges of Open vSwitch
	// are omitted, and their addresses move to the interface below. The default is FirstBoot.
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:MinItems=1
	// +optional
	Phases []Phase `json:"phases,omitempty"`

	// values replace ${name} in template, bridge and desiredState, for hosts without their own value.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Values map[string]string `json:"values,omitempty"`

	// template is NMState's desired state for all hosts. Strings may contain ${name}: a value, or ${host}, the
	// short name of the host; $${ is a literal ${. ${name.ip} and ${name.prefix} are the parts of a value in CIDR notation.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`

	// bridge adds an Open vSwitch bridge on one interface, with the addresses on the bridge.
	// +optional
	Bridge *Bridge `json:"bridge,omitempty"`

	// withoutBridge allows documents without br-ex, which only OVN-Kubernetes needs. Otherwise a document without br-ex is
	// refused: a node with a document does not get br-ex automatically.
	// +optional
	WithoutBridge bool `json:"withoutBridge,omitempty"`

	// applier is the program that applies the documents on the nodes of OpenShift. MachineConfigOperator, the default, is the service of the
	// machine-config operator, which reports nothing. HostNetwork is host-network, which verifies, rolls back and reports: the
	// operator installs it with the MachineConfig 05-host-network-<role>. A change restarts the nodes of the role, one after
	// the other. Elsewhere host-network is the only one, and the field has no effect.
	// +kubebuilder:validation:Enum=MachineConfigOperator;HostNetwork
	// +optional
	Applier Applier `json:"applier,omitempty"`

	// rollout determines when nodes that run apply a changed document. The default is their next boot.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// hosts are the hosts with their own values or state.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=2000
	// +optional
	Hosts []Host `json:"hosts,omitempty"`
}

// Applier is a program that applies documents on nodes.
type Applier string

// The programs that apply documents.
const (
	// ApplierMachineConfigOperator is nmstate-configuration.service.
	ApplierMachineConfigOperator Applier = "MachineConfigOperator"
	// ApplierHostNetwork is host-network.service.
	ApplierHostNetwork Applier = "HostNetwork"
)

// Rollout is when nodes that run apply a changed document.
type Rollout struct {
	// strategy is NextBoot, the default: each node applies its document at its next boot; or Live: nodes with host-network apply it while they
	// run, in the order of their names, and no further one begins after one has failed. A node that rolled back keeps what
	// it had, also at later boots.
	// +kubebuilder:validation:Enum=NextBoot;Live
	// +optional
	Strategy RolloutStrategy `json:"strategy,omitempty"`

	// maxUnavailable is how many nodes apply their document at a time. Nodes of the role that are not ready count. The default is 1.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`

	// attempt is changed to apply the same document again on nodes that rolled it back or refused it. Any other number does.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
}

// RolloutStrategy is when documents are applied.
type RolloutStrategy string

// The strategies of rollouts.
const (
	RolloutNextBoot RolloutStrategy = "NextBoot"
	RolloutLive     RolloutStrategy = "Live"
)

// AcceptRestart is the annotation of a HostNetworkConfig that accepts units of a newer version of the operator for the nodes of the role, which
// restarts them. Its value is the digest of the units, from the message of the condition Rendered.
const AcceptRestart = "network.operator.openshift.io/accept-restart"

// Phase is when a configuration is used.
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
	Name string `json:"name"`

	// macAddresses are MAC addresses of the host. Each of them identifies the host if its name is not
	// known yet, or differs.
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +optional
	MACAddresses []MACAddress `json:"macAddresses,omitempty"`

	// bareMetalHost is the name of the BareMetalHost object, for the phase PreBoot. The default is the short name.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	BareMetalHost string `json:"bareMetalHost,omitempty"`

	// values are the values of this host. They override those of the same name for all hosts.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Values map[string]string `json:"values,omitempty"`

	// desiredState is NMState's desired state for this host, and may contain ${name} as the template does.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	DesiredState *runtime.RawExtension `json:"desiredState,omitempty"`

	// strategy determines how desiredState is combined with template and bridge: Replace (the default) replaces them; Merge
	// overlays them, interfaces by name and type, maps by key, and everything else as a whole.
	// +kubebuilder:validation:Enum=Replace;Merge
	// +optional
	Strategy Strategy `json:"strategy,omitempty"`
}

// MACAddress is six bytes in hexadecimal, separated by colons.
//
// +kubebuilder:validation:MaxLength=17
type MACAddress string

// Strategy is how the state of a host is combined with that of all hosts.
type Strategy string

// The strategies.
const (
	Replace Strategy = "Replace"
	Merge   Strategy = "Merge"
)
