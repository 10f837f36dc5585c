package v1

import (
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// NetworkConfigName is the name of the only NetworkConfig object that the operator reads.
const NetworkConfigName = "default"

// NetworkConfig is the short form of the configuration of the cluster's network. There is one, named
// "default".
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=networkconfigs,scope=Cluster,shortName=netconf,categories=cno
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Type,type=string,JSONPath=`.spec.defaultNetwork.type`,description="The provider of the pod network"
// +kubebuilder:printcolumn:name=Pods,type=string,JSONPath=`.spec.clusterNetworks[*].cidr`,description="The first address pool for pods"
// +kubebuilder:printcolumn:name=Services,type=string,JSONPath=`.spec.serviceNetwork`,description="The address pool for services"
// +kubebuilder:printcolumn:name=Synced,type=string,JSONPath=`.status.conditions[?(@.type=="Synced")].status`,description="Whether the Network matches this object"
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the network works"
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`,description="Whether a change is being rolled out"
// +kubebuilder:printcolumn:name=Degraded,type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`,description="Whether something needs attention"
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; the name must be "default".
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired network.
	Spec NetworkConfigSpec `json:"spec"`
	// status mirrors the status of the Network object that is created from this one.
	// +optional
	Status NetworkConfigStatus `json:"status,omitempty"`
}

// NetworkConfigList is a list of NetworkConfig objects.
//
// +kubebuilder:object:root=true
type NetworkConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NetworkConfig `json:"items"`
}

// NetworkConfigSpec is the desired network. The two address pools and the type of the default
// network are required; everything else has a default.
type NetworkConfigSpec struct {
	// clusterNetworks is the list of address pools for pods. All of them, and serviceNetwork, are of one IP
	// family. They cannot be changed while the network is in use.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ClusterNetworks []ClusterNetwork `json:"clusterNetworks"`

	// serviceNetwork is the Service CIDR. It must be the one that the API server
	// uses. It cannot be changed while the network is in use.
	// +kubebuilder:validation:MaxLength=64
	ServiceNetwork string `json:"serviceNetwork"`

	// defaultNetwork is the network to which every pod is attached. It has the fields of the same name in
	// Network.operator.openshift.io, and otherConfig.
	DefaultNetwork DefaultNetworkDefinition `json:"defaultNetwork"`

	// additionalNetworks are further networks that pods may request.
	// +listType=map
	// +listMapKey=name
	// +optional
	AdditionalNetworks []osv1.AdditionalNetworkDefinition `json:"additionalNetworks,omitempty"`

	// deployKubeProxy determines whether kube-proxy is deployed. If it is omitted, kube-proxy is deployed if
	// the provider of the default network does not serve Services itself. It needs an acknowledgement to
	// remove kube-proxy where no other component serves Services.
	// +optional
	DeployKubeProxy *bool `json:"deployKubeProxy,omitempty"`

	// kubeProxyConfig is the configuration of the kube-proxy that is deployed. Everything in it is optional and
	// safe to change.
	// +optional
	KubeProxyConfig *osv1.ProxyConfig `json:"kubeProxyConfig,omitempty"`
}

// ClusterNetwork is one address pool for pods. Each node gets a block of it.
type ClusterNetwork struct {
	// cidr is the pool in CIDR notation, without host bits, for example 10.128.0.0/14.
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"cidr"`

	// hostSubnetLength is the number of host bits of the block that each node gets, which is the reverse of
	// CIDR notation: 9 means a /23 in IPv4, and a /119 in IPv6.
	// +kubebuilder:validation:Minimum=0
	HostSubnetLength uint32 `json:"hostSubnetLength"`
}

// DefaultNetworkDefinition is the provider of the default network and its settings.
type DefaultNetworkDefinition struct {
	operatorv1.DefaultNetworkDefinition `json:",inline"`

	// otherConfig is kept for objects that contain it; the operator does not read it.
	// +optional
	OtherConfig map[string]string `json:"otherConfig,omitempty"`
}

// NetworkConfigStatus mirrors the status of the Network object that is created from this one.
type NetworkConfigStatus struct {
	// observedGeneration is the generation of this object to which the conditions refer.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are those of Network.operator.openshift.io/cluster, and Synced, which is True if that object
	// matches this one.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []osv1.OperatorCondition `json:"conditions,omitempty"`

	// version is the version of the operator that the conditions describe.
	// +optional
	Version string `json:"version,omitempty"`
}
