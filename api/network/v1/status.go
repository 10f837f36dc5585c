package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The types of conditions.
const (
	// ConditionValid is True if documents can be rendered for all hosts; otherwise the message has the errors. While it is
	// False, the objects that were rendered last stay.
	ConditionValid = "Valid"
	// ConditionRendered is True if the objects that install the documents on hosts are up to date.
	ConditionRendered = "Rendered"
	// ConditionApplied is True if all nodes of the role report that they have applied their document.
	ConditionApplied = "Applied"
)

// HostNetworkConfigStatus is the observed state: the rendered objects, and the reports of nodes.
type HostNetworkConfigStatus struct {
	// observedGeneration is the generation of this object to which the status refers.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Valid, Rendered and Applied.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// rendered are the rendered objects.
	// +listType=atomic
	// +optional
	Rendered []RenderedObject `json:"rendered,omitempty"`

	// nodes is the number of nodes with the role.
	// +optional
	Nodes int32 `json:"nodes"`

	// appliedNodes is the number of nodes that have applied their document.
	// +optional
	AppliedNodes int32 `json:"appliedNodes"`

	// failedNodes is the number of nodes that could not apply their document.
	// +optional
	FailedNodes int32 `json:"failedNodes"`

	// hosts are the hosts of the specification and the nodes of the role, by name.
	// +listType=map
	// +listMapKey=name
	// +optional
	Hosts []HostStatus `json:"hosts,omitempty"`
}

// RenderedObject is one rendered object.
type RenderedObject struct {
	// kind is the kind of the object.
	Kind string `json:"kind"`
	// namespace is the namespace of the object; empty for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name is the name of the object.
	Name string `json:"name"`
	// hash identifies the desired content: it changes with it.
	Hash string `json:"hash"`
}

// Result is the progress of a host.
//
// +kubebuilder:validation:Enum=NoNode;Pending;Applying;Applied;RolledBack;Failed
type Result string

// The results.
const (
	// NoNode is a host that has not joined the cluster.
	NoNode Result = "NoNode"
	// Pending is a node that has not reported this document.
	Pending Result = "Pending"
	// Applying is a node that is applying it.
	Applying Result = "Applying"
	// Applied is a node that has applied and verified it, and boots with it.
	Applied Result = "Applied"
	// RolledBack is a node that could not apply it, and has restored its earlier network.
	RolledBack Result = "RolledBack"
	// Failed is a node that could not apply it; the message has the cause.
	Failed Result = "Failed"
)

// HostStatus is the state of one host.
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
	// result is the progress of the host.
	Result Result `json:"result"`
	// message is the cause, in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// time is when the node reported it.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}
