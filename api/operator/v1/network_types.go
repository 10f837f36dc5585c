package v1

import (
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// NetworkName is the name of the one Network object that is acted on.
const NetworkName = "cluster"

// Network is the network of the cluster: the address pools, the provider of the pod network and its
// settings, and what is deployed beside it. There is one, named "cluster".
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=networks,scope=Cluster,categories=cno
// +kubebuilder:subresource:status
type Network struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; the name must be "cluster".
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the network that is wanted.
	// +optional
	Spec NetworkSpec `json:"spec,omitempty"`
	// status is the network as it is.
	// +optional
	Status NetworkStatus `json:"status,omitempty"`
}

// NetworkList is a list of Network objects.
//
// +kubebuilder:object:root=true
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Network `json:"items"`
}

// NetworkSpec is the network that is wanted. Only the two address pools and the type of the default
// network are required; everything else has a default, which the operator records when it applies it.
type NetworkSpec struct {
	// managementState says whether the operator looks after the network: Managed (the default) or
	// Unmanaged, which leaves everything as it is. Force is accepted and means Managed; Removed is refused,
	// since a cluster without a network cannot be repaired from inside.
	// +kubebuilder:default=Managed
	// +optional
	ManagementState osv1.ManagementState `json:"managementState,omitempty"`

	// logLevel is how much the deployed components log: Normal (the default), Debug, Trace or TraceAll.
	// +kubebuilder:default=Normal
	// +optional
	LogLevel osv1.LogLevel `json:"logLevel,omitempty"`

	// operatorLogLevel is how much the operator itself logs: Normal (the default), Debug, Trace or TraceAll.
	// +kubebuilder:default=Normal
	// +optional
	OperatorLogLevel osv1.LogLevel `json:"operatorLogLevel,omitempty"`

	// unsupportedConfigOverrides is kept for objects that carry it; the operator does not read it.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	UnsupportedConfigOverrides *runtime.RawExtension `json:"unsupportedConfigOverrides,omitempty"`

	// observedConfig is kept for objects that carry it; the operator does not read it.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	ObservedConfig *runtime.RawExtension `json:"observedConfig,omitempty"`

	// clusterNetwork is the list of address pools for pods. How many are allowed, and whether they may be of
	// both IP families, depends on the type of the default network.
	// +listType=atomic
	ClusterNetwork []ClusterNetworkEntry `json:"clusterNetwork"`

	// serviceNetwork is the address pool for services in CIDR notation: one, or one of each IP family. It must
	// be what the API server was started with.
	// +listType=atomic
	ServiceNetwork []string `json:"serviceNetwork"`

	// defaultNetwork is the network that every pod gets.
	DefaultNetwork DefaultNetworkDefinition `json:"defaultNetwork"`

	// additionalNetworks are further networks that pods may ask for, when multiple networks are enabled.
	// +listType=map
	// +listMapKey=name
	// +optional
	AdditionalNetworks []osv1.AdditionalNetworkDefinition `json:"additionalNetworks,omitempty"`

	// disableMultiNetwork leaves out the parts that give a pod more than one network. The default is false.
	// +optional
	DisableMultiNetwork *bool `json:"disableMultiNetwork,omitempty"`

	// useMultiNetworkPolicy makes MultiNetworkPolicy objects effective on additional networks. The default is
	// false. Ignored when disableMultiNetwork is true.
	// +optional
	UseMultiNetworkPolicy *bool `json:"useMultiNetworkPolicy,omitempty"`

	// deployKubeProxy says whether a kube-proxy is deployed. When it is left out, one is deployed exactly when
	// the provider of the default network does not serve services itself. Safe to change.
	// +optional
	DeployKubeProxy *bool `json:"deployKubeProxy,omitempty"`

	// disableNetworkDiagnostics turns off the checks of connectivity between nodes. The default is false.
	// +kubebuilder:default=false
	// +optional
	DisableNetworkDiagnostics bool `json:"disableNetworkDiagnostics"`

	// kubeProxyConfig is the configuration of the kube-proxy that is deployed. Everything in it is optional and
	// safe to change.
	// +optional
	KubeProxyConfig *osv1.ProxyConfig `json:"kubeProxyConfig,omitempty"`

	// exportNetworkFlows configures the export of flow records from the pod network (OVNKubernetes only).
	// +optional
	ExportNetworkFlows *osv1.ExportNetworkFlows `json:"exportNetworkFlows,omitempty"`

	// migration announces a change that cannot be made at once.
	// +optional
	Migration *osv1.NetworkMigration `json:"migration,omitempty"`

	// additionalRoutingCapabilities enables components that exchange routes with the machine network.
	// +optional
	AdditionalRoutingCapabilities *osv1.AdditionalRoutingCapabilities `json:"additionalRoutingCapabilities,omitempty"`
}

// ClusterNetworkEntry is one address pool for pods. Each node gets a block of it.
type ClusterNetworkEntry struct {
	// cidr is the pool in CIDR notation, without host bits, for example 10.128.0.0/14.
	CIDR string `json:"cidr"`

	// hostPrefix is the prefix length of the block that each node gets: 23 makes blocks of 510 pod addresses.
	// It must leave at least two host bits (at most 30 for IPv4, 126 for IPv6). May be left out for a provider
	// that does not give blocks to nodes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	HostPrefix uint32 `json:"hostPrefix,omitempty"`
}

// DefaultNetworkDefinition is the provider of the default network and its settings. Only the settings that
// belong to the type may be set.
type DefaultNetworkDefinition struct {
	// type is the provider: Flannel, OVNKubernetes, OpenShiftSDN, Kuryr, Nuage or Contiv. Any other name stands
	// for a network that somebody else installs: nothing is deployed for it, everything beside it is.
	// It cannot be changed while the network is in use.
	Type NetworkType `json:"type"`

	// openshiftSDNConfig are the settings of type OpenShiftSDN.
	// +optional
	OpenShiftSDNConfig *osv1.OpenShiftSDNConfig `json:"openshiftSDNConfig,omitempty"`

	// ovnKubernetesConfig are the settings of type OVNKubernetes.
	// +optional
	OVNKubernetesConfig *osv1.OVNKubernetesConfig `json:"ovnKubernetesConfig,omitempty"`

	// flannelConfig are the settings of type Flannel.
	// +optional
	FlannelConfig *FlannelConfig `json:"flannelConfig,omitempty"`

	// kuryrConfig are the settings of type Kuryr.
	// +optional
	KuryrConfig *KuryrConfig `json:"kuryrConfig,omitempty"`

	// nuageConfig are the settings of type Nuage.
	// +optional
	NuageConfig *NuageConfig `json:"nuageConfig,omitempty"`

	// contivConfig are the settings of type Contiv.
	// +optional
	ContivConfig *ContivConfig `json:"contivConfig,omitempty"`
}

// NetworkType names the provider of the default network.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
type NetworkType string

// The types of default network that the operator knows. Any other name is a network that somebody else
// installs.
const (
	NetworkTypeFlannel       NetworkType = "Flannel"
	NetworkTypeOVNKubernetes NetworkType = "OVNKubernetes"
	NetworkTypeOpenShiftSDN  NetworkType = "OpenShiftSDN"
	NetworkTypeKuryr         NetworkType = "Kuryr"
	NetworkTypeNuage         NetworkType = "Nuage"
	NetworkTypeContiv        NetworkType = "Contiv"
)

// KuryrConfig are the settings of type Kuryr.
type KuryrConfig struct{}

// NuageConfig are the settings of type Nuage.
type NuageConfig struct{}

// ContivConfig are the settings of type Contiv.
type ContivConfig struct{}

// NetworkStatus is the network as it is.
type NetworkStatus struct {
	osv1.OperatorStatus `json:",inline"`
}
