package v1

import (
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// NetworkConfigName is the name of the one NetworkConfig object that is acted on.
const NetworkConfigName = "default"

// NetworkConfig is the short form of the configuration of the cluster's network. There is one, named
// "default".
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=networkconfigs,scope=Cluster,categories=cno
// +kubebuilder:subresource:status
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; the name must be "default".
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the network that is wanted.
	// +optional
	Spec NetworkConfigSpec `json:"spec,omitempty"`
	// status mirrors the status of the Network object that is made of this one.
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

// NetworkConfigSpec is the network that is wanted.
type NetworkConfigSpec struct {
	// clusterNetworks is the list of address pools for pods.
	// +listType=atomic
	ClusterNetworks []ClusterNetwork `json:"clusterNetworks"`

	// serviceNetwork is the address pool for services in CIDR notation.
	ServiceNetwork string `json:"serviceNetwork"`

	// defaultNetwork is the network that every pod gets. It has the fields of the same name in
	// Network.operator.openshift.io, and otherConfig.
	DefaultNetwork DefaultNetworkDefinition `json:"defaultNetwork"`

	// additionalNetworks are further networks that pods may ask for.
	// +listType=map
	// +listMapKey=name
	// +optional
	AdditionalNetworks []osv1.AdditionalNetworkDefinition `json:"additionalNetworks,omitempty"`

	// deployKubeProxy says whether a kube-proxy is deployed. When it is left out, one is deployed exactly when
	// the provider of the default network does not serve services itself.
	// +optional
	DeployKubeProxy *bool `json:"deployKubeProxy,omitempty"`

	// kubeProxyConfig is the configuration of the kube-proxy that is deployed.
	// +optional
	KubeProxyConfig *osv1.ProxyConfig `json:"kubeProxyConfig,omitempty"`
}

// ClusterNetwork is one address pool for pods.
type ClusterNetwork struct {
	// cidr is the pool in CIDR notation, without host bits, for example 10.128.0.0/14.
	CIDR string `json:"cidr"`

	// hostSubnetLength is the number of host bits of the block that each node gets, which is the reverse of
	// CIDR notation: 9 means a /23 in IPv4, and a /119 in IPv6.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=126
	HostSubnetLength uint32 `json:"hostSubnetLength"`
}

// DefaultNetworkDefinition is the provider of the default network and its settings.
type DefaultNetworkDefinition struct {
	operatorv1.DefaultNetworkDefinition `json:",inline"`

	// otherConfig is kept for objects that carry it; the operator does not read it.
	// +optional
	OtherConfig map[string]string `json:"otherConfig,omitempty"`
}

// NetworkConfigStatus mirrors the status of the Network object that is made of this one.
type NetworkConfigStatus struct {
	// observedGeneration is the generation of this object that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are those of Network.operator.openshift.io/cluster, and Synced, which says whether that object
	// is what this one asks for.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []osv1.OperatorCondition `json:"conditions,omitempty"`

	// version is the version of the operator whose work the conditions describe.
	// +optional
	Version string `json:"version,omitempty"`
}
