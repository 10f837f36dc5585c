package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeReady is the type of the only condition of a NetworkNode.
const NodeReady = "Ready"

// NetworkNode is what the operator knows of the network of one node. Only the operator writes it: it creates the object when the Node joins,
// and deletes it when the Node or Network.operator.openshift.io/cluster is deleted.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=netnode
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.status.type`
// +kubebuilder:printcolumn:name="Blocks",type=string,JSONPath=`.status.blocks`
// +kubebuilder:printcolumn:name="MTU",type=integer,JSONPath=`.status.mtu`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type NetworkNode struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; the name is that of the Node.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is the state of the network on the node.
	// +optional
	Status NetworkNodeStatus `json:"status,omitempty"`
}

// NetworkNodeStatus is the state of the network on a node.
type NetworkNodeStatus struct {
	// type is the type of the applied network, as in spec.defaultNetwork.type of Network.operator.openshift.io/cluster. It is empty while
	// there is no network.
	// +optional
	Type string `json:"type,omitempty"`

	// blocks are the CIDRs from which pods of the node get their addresses, at most one of each pool. They are those in the Node, or else
	// those of the addresses of the operator's pods on the node. They are empty while they are not known, and for networks without blocks.
	// +listType=atomic
	// +optional
	Blocks []string `json:"blocks,omitempty"`

	// mtu is the MTU in bytes of the node's interface with the default route when the node joined. It is 0 if it is not known; it is only
	// determined if the MTU of the network depends on it.
	// +optional
	MTU int32 `json:"mtu,omitempty"`

	// agents are the pods of the network's agents on the node, by DaemonSet. Pods that are being deleted are omitted.
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +optional
	Agents []NetworkNodeAgent `json:"agents,omitempty"`

	// conditions are the condition Ready. It is True if the network works on the node; otherwise its reason and message describe the worst
	// problem. A node that is cordoned and works is Ready with the reason Cordoned.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NetworkNodeAgent is a pod of an agent of the network.
type NetworkNodeAgent struct {
	// namespace is the namespace of the agent's DaemonSet.
	Namespace string `json:"namespace"`

	// name is the name of the agent's DaemonSet.
	Name string `json:"name"`

	// image is the image of the pod's first container without registry and directories: the name with the tag, or with the first digits of
	// the digest if there is no tag.
	// +optional
	Image string `json:"image,omitempty"`

	// ready is whether the pod is ready.
	Ready bool `json:"ready"`
}

// NetworkNodeList is a list of NetworkNodes.
// +kubebuilder:object:root=true
type NetworkNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NetworkNode `json:"items"`
}
