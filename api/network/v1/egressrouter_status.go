package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EgressRouterStatusConditionType is what a condition of a router is about.
type EgressRouterStatusConditionType string

// The conditions of routers.
const (
	// EgressRouterAvailable says whether the router's pod runs.
	EgressRouterAvailable EgressRouterStatusConditionType = "Available"
	// EgressRouterProgressing says whether something is being done, or awaited, that makes the router what it should be.
	EgressRouterProgressing EgressRouterStatusConditionType = "Progressing"
	// EgressRouterDegraded says whether a person must do something.
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

	// lastTransitionTime is when status got its present value.
	// +nullable
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// reason is a word for why the status is what it is.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message is a sentence for a person who reads it.
	// +optional
	Message string `json:"message,omitempty"`
}

// EgressRouterStatus says what became of an EgressRouter.
type EgressRouterStatus struct {
	// observedGeneration is the generation of this object that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Available, Progressing and Degraded.
	// +listType=map
	// +listMapKey=type
	Conditions []EgressRouterStatusCondition `json:"conditions"`
}
