package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterNetworkDefault is the name of the only ClusterNetwork.
const ClusterNetworkDefault = "default"

// ClusterNetwork is the configuration of the network, which the network operator writes. Controller and nodes read the one named default.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusternetworks,scope=Cluster
// +kubebuilder:metadata:annotations="api-approved.openshift.io=https://github.com/openshift/api/pull/527"
// +kubebuilder:printcolumn:name="Cluster Network",type=string,JSONPath=`.network`,description="The primary cluster network CIDR"
// +kubebuilder:printcolumn:name="Service Network",type=string,JSONPath=`.serviceNetwork`,description="The service network CIDR"
// +kubebuilder:printcolumn:name="Plugin Name",type=string,JSONPath=`.pluginName`,description="The OpenShift SDN network plug-in in use"
type ClusterNetwork struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// network is the first pool of clusterNetworks, for clients that know of one only.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Network string `json:"network,omitempty"`

	// hostsubnetlength is the length of hosts' addresses in the first pool, in bits: 9 gives each node a /23.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=30
	// +optional
	HostSubnetLength uint32 `json:"hostsubnetlength,omitempty"`

	// serviceNetwork is the CIDR of ClusterIPs.
	// +kubebuilder:validation:MaxLength=64
	ServiceNetwork string `json:"serviceNetwork"`

	// pluginName is the mode: redhat/openshift-ovs-subnet, redhat/openshift-ovs-multitenant or redhat/openshift-ovs-networkpolicy.
	// +optional
	PluginName string `json:"pluginName,omitempty"`

	// clusterNetworks are the pools from which nodes get their blocks.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ClusterNetworks []ClusterNetworkEntry `json:"clusterNetworks"`

	// vxlanPort is the UDP port of VXLAN. The default is 4789.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	VXLANPort *uint32 `json:"vxlanPort,omitempty"`

	// mtu is the MTU of pods in bytes.
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=65536
	// +optional
	MTU *uint32 `json:"mtu,omitempty"`
}

// ClusterNetworkEntry is a pool from which nodes get blocks.
type ClusterNetworkEntry struct {
	// CIDR is the pool.
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"CIDR"`

	// hostSubnetLength is the length of hosts' addresses in bits: 9 gives each node a /23.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=30
	HostSubnetLength uint32 `json:"hostSubnetLength"`
}

// ClusterNetworkList is a list of ClusterNetworks.
//
// +kubebuilder:object:root=true
type ClusterNetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterNetwork `json:"items"`
}

// The values of pluginName.
const (
	PluginSubnet        = "redhat/openshift-ovs-subnet"
	PluginMultitenant   = "redhat/openshift-ovs-multitenant"
	PluginNetworkPolicy = "redhat/openshift-ovs-networkpolicy"
)
