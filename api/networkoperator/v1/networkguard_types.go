package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NetworkGuardName is the name of the one NetworkGuard.
const NetworkGuardName = "cluster"

// NetworkGuard has the applied values for the API server's admission policies, which refuse unsafe changes. Only the
// operator writes it. Without it, nothing is refused.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=netguard
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.data.spec\.defaultNetwork\.type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NetworkGuard struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; the name is "cluster".
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// data are the applied values, by the paths of their fields in Network/cluster.
	// +optional
	Data map[string]string `json:"data,omitempty"`
}

// NetworkGuardList is a list of NetworkGuards.
// +kubebuilder:object:root=true
type NetworkGuardList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NetworkGuard `json:"items"`
}
