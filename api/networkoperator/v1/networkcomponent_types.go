package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The types of the conditions of a NetworkComponent. Each component has all of them.
const (
	ComponentReady       = "Ready"
	ComponentAvailable   = "Available"
	ComponentProgressing = "Progressing"
	ComponentDegraded    = "Degraded"
)

// NetworkComponent is the state of one component of the network, for example of kube-proxy. Only the operator writes it: it creates
// the object when it deploys the component, and deletes it when it removes the component.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=netcomp,categories=cno
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type NetworkComponent struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; the name is that of the component in lower case.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is the state of the component.
	// +optional
	Status NetworkComponentStatus `json:"status,omitempty"`
}

// NetworkComponentStatus is the state of a component.
type NetworkComponentStatus struct {
	// component is the name of the component, as in the types of conditions of Network.operator.openshift.io/cluster: "KubeProxy" for
	// KubeProxyAvailable.
	// +optional
	Component string `json:"component,omitempty"`

	// version is the version of the operator with which all workloads of the component run. It is empty while they are rolled out, and for
	// a component without workloads.
	// +optional
	Version string `json:"version,omitempty"`

	// conditions are Available, Progressing and Degraded, with the same meaning as those of the network, and Ready, which is True if the
	// component is available, not degraded, and not being changed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NetworkComponentList is a list of NetworkComponents.
// +kubebuilder:object:root=true
type NetworkComponentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NetworkComponent `json:"items"`
}
