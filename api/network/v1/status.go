package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The types of conditions.
const (
	// ConditionValid says whether documents could be made for all hosts, and what is wrong with them if not. While it is
	// False, what was rendered last stays.
	ConditionValid = "Valid"
	// ConditionRendered says whether the objects that bring the documents to hosts are what they should be.
	ConditionRendered = "Rendered"
	// ConditionApplied says whether all nodes of the role say that they have applied their document.
	ConditionApplied = "Applied"
)

// HostNetworkConfigStatus is what was made of a HostNetworkConfig, and what the nodes say.
type HostNetworkConfigStatus struct {
	// observedGeneration is the generation of this object that the rest speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Valid, Rendered and Applied.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// rendered are the objects that were made.
	// +listType=atomic
	// +optional
	Rendered []RenderedObject `json:"rendered,omitempty"`

	// nodes is how many nodes have the role.
	// +optional
	Nodes int32 `json:"nodes"`

	// appliedNodes is how many of them say that they have applied the document that they should.
	// +optional
	AppliedNodes int32 `json:"appliedNodes"`

	// failedNodes is how many of them say that they could not.
	// +optional
	FailedNodes int32 `json:"failedNodes"`

	// hosts are the hosts of the specification and the nodes of the role, by name.
	// +listType=map
	// +listMapKey=name
	// +optional
	Hosts []HostStatus `json:"hosts,omitempty"`
}

// RenderedObject is one object that was made.
type RenderedObject struct {
	// kind is that of the object.
	Kind string `json:"kind"`
	// namespace is that of the object; empty for one that belongs to the cluster.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name is that of the object.
	Name string `json:"name"`
	// hash is a short name of what was asked for: it changes with it.
	Hash string `json:"hash"`
}

// Result is how far a host is.
//
// +kubebuilder:validation:Enum=NoNode;Pending;Applying;Applied;RolledBack;Failed
type Result string

// The results.
const (
	// NoNode is a host that has not joined the cluster.
	NoNode Result = "NoNode"
	// Pending is a node that has said nothing of this document.
	Pending Result = "Pending"
	// Applying is a node that is at it.
	Applying Result = "Applying"
	// Applied is a node that has verified it, and will boot with it.
	Applied Result = "Applied"
	// RolledBack is a node that could not, and has its earlier network.
	RolledBack Result = "RolledBack"
	// Failed is a node that could not, and says what is wrong.
	Failed Result = "Failed"
)

// HostStatus is how far one host is.
type HostStatus struct {
	// name is the short name.
	Name string `json:"name"`
	// node is the name of the Node object; empty if there is none.
	// +optional
	Node string `json:"node,omitempty"`
	// file is the name of the host's document.
	// +optional
	File string `json:"file,omitempty"`
	// sha256 is the digest of that document.
	// +optional
	SHA256 string `json:"sha256,omitempty"`
	// result is how far the host is with it.
	Result Result `json:"result"`
	// message says why, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// time is when the node said so.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}
