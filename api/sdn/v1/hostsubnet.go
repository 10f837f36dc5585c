package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The annotations of a HostSubnet.
const (
	// AnnotationNodeUID is the UID of the Node that a HostSubnet is for. One without it was created by an administrator.
	AnnotationNodeUID = "pod.network.openshift.io/node-uid"
	// AnnotationAssignSubnet, with the value true, asks for a block for a HostSubnet without one.
	AnnotationAssignSubnet = "pod.network.openshift.io/assign-subnet"
	// AnnotationFixedVNID is the VNID that all packets to this host carry.
	AnnotationFixedVNID = "pod.network.openshift.io/fixed-vnid-host"
)

// HostSubnet is a node of the network: the address of its end of tunnels, and the block of its pods. Those of nodes are created
// automatically. An administrator may create others, for hosts that are no nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=hostsubnets,scope=Cluster
// +kubebuilder:metadata:annotations="api-approved.openshift.io=https://github.com/openshift/api/pull/527"
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.host`,description="The name of the node"
// +kubebuilder:printcolumn:name="Host IP",type=string,JSONPath=`.hostIP`,description="The IP address to be used as a VTEP by other nodes in the overlay network"
// +kubebuilder:printcolumn:name="Subnet",type=string,JSONPath=`.subnet`,description="The CIDR range of the overlay network assigned to the node for its pods"
// +kubebuilder:printcolumn:name="Egress CIDRs",type=string,JSONPath=`.egressCIDRs`,description="The network egress CIDRs"
// +kubebuilder:printcolumn:name="Egress IPs",type=string,JSONPath=`.egressIPs`,description="The network egress IP addresses"
type HostSubnet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// host is the name of the node, as metadata.name.
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`

	// hostIP is the IPv4 address of the node to which other nodes send VXLAN.
	// +kubebuilder:validation:MaxLength=64
	HostIP string `json:"hostIP"`

	// subnet is the block of the cluster network from which the node's pods get their addresses. It never changes. It is left out
	// to get one with the annotation pod.network.openshift.io/assign-subnet.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Subnet string `json:"subnet,omitempty"`

	// egressIPs are the egress IP addresses that this node has. With egressCIDRs, the controller alone writes it.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=64
	// +optional
	EgressIPs []string `json:"egressIPs,omitempty"`

	// egressCIDRs are the networks of which the controller may assign egress IP addresses to this node.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=64
	// +optional
	EgressCIDRs []string `json:"egressCIDRs,omitempty"`
}

// HostSubnetList is a list of HostSubnets.
//
// +kubebuilder:object:root=true
type HostSubnetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []HostSubnet `json:"items"`
}
