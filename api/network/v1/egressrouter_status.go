package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EgressRouterStatusConditionType is the type of a condition of a router.
type EgressRouterStatusConditionType string

// The conditions of routers.
const (
	// EgressRouterAvailable is True if the router's pod is available.
	EgressRouterAvailable EgressRouterStatusConditionType = "Available"
	// EgressRouterProgressing is True while the router is being changed, or waits for a prerequisite.
	EgressRouterProgressing EgressRouterStatusConditionType = "Progressing"
	// EgressRouterDegraded is True if user action is needed.
	EgressRouterDegraded EgressRouterStatusConditionType = "Degraded"
)

// ConditionStatus is True, False or Unknown.
type ConditionStatus string

// The statuses of a condition.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// EgressRouterStatusCondition is one aspect of the state of a router.
type EgressRouterStatusCondition struct {
	// type is Available, Progressing or Degraded.
	// +kubebuilder:validation:Enum=Available;Progressing;Degraded
	Type EgressRouterStatusConditionType `json:"type"`

	// status is True, False or Unknown.
	// +kubebuilder:validation:Enum="True";"False";Unknown
	Status ConditionStatus `json:"status"`

	// lastTransitionTime is when status last changed.
	// +nullable
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// reason is a CamelCase identifier for the cause of the last transition.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message describes the cause in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// EgressRouterStatus is the observed state of an EgressRouter.
type EgressRouterStatus struct {
	// observedGeneration is the generation of this object to which the conditions refer.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Available, Progressing and Degraded.
	// +listType=map
	// +listMapKey=type
	Conditions []EgressRouterStatusCondition `json:"conditions"`
}
