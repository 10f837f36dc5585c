package v1

import (
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// NetworkName is the name of the only Network object that the operator reads.
const NetworkName = "cluster"

// Network is the network of the cluster: the address pools, the provider of the pod network and its
// settings, and further components. There is one, named "cluster".
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=networks,scope=Cluster,shortName=netop,categories=cno
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Type,type=string,JSONPath=`.spec.defaultNetwork.type`,description="The provider of the pod network"
// +kubebuilder:printcolumn:name=Pods,type=string,JSONPath=`.spec.clusterNetwork[*].cidr`,description="The first address pool for pods"
// +kubebuilder:printcolumn:name=Services,type=string,JSONPath=`.spec.serviceNetwork[*]`,description="The first address pool for services"
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the network works"
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`,description="Whether a change is being rolled out"
// +kubebuilder:printcolumn:name=Degraded,type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`,description="Whether something needs attention"
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type Network struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; the name must be "cluster".
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired network. It must not be omitted, but may be empty.
	// +optional
	Spec NetworkSpec `json:"spec,omitempty"`
	// status is the observed state of the network.
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

// NetworkSpec is the desired network. Everything has a default, which the operator records when it applies it. The two
// address pools have one only if the cluster declares them: in ServiceCIDR kubernetes, or in the configuration of kubeadm or
// of kube-controller-manager. Where the cluster has an object Network.config.openshift.io, its values replace the pools and the
// type of the default network.
type NetworkSpec struct {
	// managementState determines whether the operator manages the network: Managed (the default) or
	// Unmanaged, which changes nothing. Force is accepted and means Managed; Removed is refused,
	// since a cluster without a network cannot be repaired from within.
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

	// unsupportedConfigOverrides is kept for objects that contain it; the operator does not read it.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	UnsupportedConfigOverrides *runtime.RawExtension `json:"unsupportedConfigOverrides,omitempty"`

	// observedConfig is kept for objects that contain it; the operator does not read it.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	ObservedConfig *runtime.RawExtension `json:"observedConfig,omitempty"`

	// clusterNetwork is the list of address pools for pods. How many are allowed, and whether they may be of
	// both IP families, depends on the type of the default network. It cannot be changed while the network is in
	// use. If it is omitted, it keeps its applied value; on a new cluster, it is podSubnet of kubeadm, or --cluster-cidr of
	// kube-controller-manager.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +optional
	ClusterNetwork []ClusterNetworkEntry `json:"clusterNetwork,omitempty"`

	// serviceNetwork is the Service CIDR: one, or one of each IP family. It must
	// be the one that the API server uses. It cannot be changed while the network is in use. If it is omitted, it keeps its
	// applied value; on a new cluster, it is that of the ServiceCIDR kubernetes, or serviceSubnet of kubeadm.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=64
	// +optional
	ServiceNetwork []string `json:"serviceNetwork,omitempty"`

	// defaultNetwork is the network to which every pod is attached.
	// +optional
	DefaultNetwork DefaultNetworkDefinition `json:"defaultNetwork"`

	// additionalNetworks are further networks that pods may request, if multiple networks are enabled.
	// +listType=map
	// +listMapKey=name
	// +optional
	AdditionalNetworks []osv1.AdditionalNetworkDefinition `json:"additionalNetworks,omitempty"`

	// disableMultiNetwork omits the components that attach a pod to several networks. The default is false.
	// +optional
	DisableMultiNetwork *bool `json:"disableMultiNetwork,omitempty"`

	// useMultiNetworkPolicy makes MultiNetworkPolicy objects effective on additional networks. The default is
	// false. Ignored when disableMultiNetwork is true.
	// +optional
	UseMultiNetworkPolicy *bool `json:"useMultiNetworkPolicy,omitempty"`

	// multiNetwork determines which further networks pods may be attached to. Ignored when disableMultiNetwork is true.
	// +optional
	MultiNetwork *MultiNetworkConfig `json:"multiNetwork,omitempty"`

	// deployKubeProxy determines whether kube-proxy is deployed. If it is omitted, kube-proxy is deployed if
	// the provider of the default network does not serve Services itself. It needs an acknowledgement to
	// remove kube-proxy where no other component serves Services.
	// +optional
	DeployKubeProxy *bool `json:"deployKubeProxy,omitempty"`

	// disableNetworkDiagnostics disables the connectivity checks between nodes. The default is false.
	// +kubebuilder:default=false
	// +optional
	DisableNetworkDiagnostics bool `json:"disableNetworkDiagnostics"`

	// kubeProxyConfig is the configuration of the kube-proxy that is deployed. Everything in it is optional and
	// safe to change.
	// +optional
	KubeProxyConfig *osv1.ProxyConfig `json:"kubeProxyConfig,omitempty"`

	// exportNetworkFlows configures the export of flow records from the pod network. It has no effect with Flannel and
	// third-party networks; the status reports that.
	// +optional
	ExportNetworkFlows *osv1.ExportNetworkFlows `json:"exportNetworkFlows,omitempty"`

	// migration requests a change in several phases: mtu.network.from and mtu.network.to change the MTU of
	// pods. Removing it before it has finished reverts it.
	// +optional
	Migration *osv1.NetworkMigration `json:"migration,omitempty"`

	// rollout configures how changes are rolled out to nodes. Safe to change.
	// +optional
	Rollout *RolloutPolicy `json:"rollout,omitempty"`

	// workloads overrides how workloads of the network run: resources, tolerations, placement, priority, environment and
	// the number of nodes that are updated at once.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Workloads []Workload `json:"workloads,omitempty"`

	// additionalRoutingCapabilities enables components that exchange routes with the machine network. It has no effect
	// with Flannel and third-party networks; the status reports that.
	// +optional
	AdditionalRoutingCapabilities *osv1.AdditionalRoutingCapabilities `json:"additionalRoutingCapabilities,omitempty"`
}

// RolloutPolicy configures how changes are rolled out to nodes.
type RolloutPolicy struct {
	// autoRollback reverts a change automatically when its rollout stalls: to the last healthy revision, with its
	// configuration, images and version. The default is false: the rollout stops, and the status reports the cause.
	// +optional
	AutoRollback bool `json:"autoRollback,omitempty"`

	// progressDeadlineSeconds is how long a rollout may make no progress before it counts as stalled, 30 to 86400. The default is
	// 600.
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// ClusterNetworkEntry is one address pool for pods. Each node is assigned a block of it.
type ClusterNetworkEntry struct {
	// cidr is the pool in CIDR notation, without host bits, for example 10.128.0.0/14.
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"cidr"`

	// hostPrefix is the prefix length of the block of each node: 23 gives blocks of 510 pod addresses.
	// It must leave at least two host bits (at most 30 for IPv4, 126 for IPv6). May be omitted for a provider
	// that does not assign blocks to nodes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	HostPrefix uint32 `json:"hostPrefix,omitempty"`
}

// DefaultNetworkDefinition is the provider of the default network and its settings. Only the settings that
// belong to the type may be set; those of OpenShift's own types may be set together, as in a
// cluster that was migrated from one to the other.
type DefaultNetworkDefinition struct {
	// type is the provider: Flannel, OVNKubernetes, OpenShiftSDN, Kuryr, Nuage or Contiv. Any other name stands
	// for a third-party network: the operator deploys everything but the network itself.
	// It cannot be changed while the network is in use. A Network may omit it: it keeps its applied value, and is OVNKubernetes on
	// a new cluster.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Type NetworkType `json:"type,omitempty"`

	// openshiftSDNConfig are the settings of type OpenShiftSDN.
	// +optional
	OpenShiftSDNConfig *osv1.OpenShiftSDNConfig `json:"openshiftSDNConfig,omitempty"`

	// ovnKubernetesConfig are the settings of type OVNKubernetes. Not all are implemented; others are refused by name.
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
type NetworkType string

// The types of default network that the operator knows. Any other name is a third-party network.
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

// NetworkStatus is the observed state of the network.
type NetworkStatus struct {
	osv1.OperatorStatus `json:",inline"`
}
