package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The annotations of a NetNamespace.
const (
	// AnnotationChangeNetwork asks for another VNID: ChangeGlobal, ChangeIsolate, or ChangeJoin and the name of a namespace. The controller
	// removes it with the answer.
	AnnotationChangeNetwork = "pod.network.openshift.io/multitenant.change-network"
	// AnnotationMulticast, with the value true, lets the pods of the namespace send multicast to one another.
	AnnotationMulticast = "netnamespace.network.openshift.io/multicast-enabled"

	// ChangeGlobal gives the namespace VNID 0, which reaches all others.
	ChangeGlobal = "global"
	// ChangeIsolate gives the namespace a VNID of its own.
	ChangeIsolate = "isolate"
	// ChangeJoin begins the value that gives the namespace the VNID of the one whose name follows.
	ChangeJoin = "join:"
	// ReasonChangeRefused is the reason of the event on a NetNamespace whose request is refused.
	ReasonChangeRefused = "ChangeNetworkRefused"
)

// The VNIDs.
const (
	// VNIDGlobal is the VNID of namespaces that reach all others.
	VNIDGlobal uint32 = 0
	// VNIDControlPlane is that of the control plane of OpenShift.
	VNIDControlPlane uint32 = 1
	// VNIDFirst is the lowest one that namespaces get. Those from 2 on below it are reserved.
	VNIDFirst uint32 = 10
	// VNIDLast is the highest one.
	VNIDLast uint32 = 1<<24 - 1
)

// NetNamespace is a namespace of the network: its virtual network, and the addresses with which its pods leave the cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=netnamespaces,scope=Cluster
// +kubebuilder:metadata:annotations="api-approved.openshift.io=https://github.com/openshift/api/pull/527"
// +kubebuilder:printcolumn:name="NetID",type=integer,JSONPath=`.netid`,description="The network identifier of the network namespace"
// +kubebuilder:printcolumn:name="Egress IPs",type=string,JSONPath=`.egressIPs`,description="The network egress IP addresses"
type NetNamespace struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// netname is the name of the namespace, as metadata.name.
	// +kubebuilder:validation:MaxLength=253
	NetName string `json:"netname"`

	// netid is the VNID: 0 reaches all others, 1 is the control plane of OpenShift, and 2 to 9 are reserved. The controller writes
	// it; "oc adm pod-network" and "cno pod-network" ask for another one.
	NetID uint32 `json:"netid"`

	// egressIPs are the source addresses of what pods of the namespace send outside of the cluster. The default is that of the node.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +optional
	EgressIPs []string `json:"egressIPs,omitempty"`
}

// NetNamespaceList is a list of NetNamespaces.
//
// +kubebuilder:object:root=true
type NetNamespaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NetNamespace `json:"items"`
}
