// Package diagnostics deploys what checks the connectivity of the cluster: a target on every node that answers, and a few
// sources that connect to targets and to the API server. What they are told to check, and what follows from the results,
// is the business of the controller connectivitycheck; nothing depends on either.
package diagnostics

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const (
	// Name is the name of the component in conditions.
	Name = "NetworkDiagnostics"
	// SourceImageVariable is the environment variable of the operator that names the image of the sources.
	SourceImageVariable = "NETWORK_CHECK_SOURCE_IMAGE"
	// TargetImageVariable names that of the targets.
	TargetImageVariable = "NETWORK_CHECK_TARGET_IMAGE"
	// OwnImageVariable names the operator's own image, which has both programs, for where the others are not set.
	OwnImageVariable = facts.OperatorImage
)

// Component is the diagnostics as a component. The zero value is ready for use.
type Component struct{}

// New returns the component.
func New() provider.Component { return Component{} }

// Name is NetworkDiagnostics.
func (Component) Name() string { return Name }

// Enabled is always true: whether anything is deployed is also said by the cluster's configuration, which Observe reads
// and which takes precedence.
func (Component) Enabled(*operatorv1.NetworkSpec) bool { return true }

// Validate finds nothing wrong: there is one switch.
func (Component) Validate(*operatorv1.NetworkSpec, provider.Traits) field.ErrorList { return nil }

// Default fills nothing in.
func (Component) Default(spec, _ *operatorv1.NetworkSpec, _ provider.Traits, _ facts.Cluster) *operatorv1.NetworkSpec {
	return spec.DeepCopy()
}

// CheckChange refuses nothing: traffic does not depend on being looked at.
func (Component) CheckChange(_, _ *operatorv1.NetworkSpec) field.ErrorList { return nil }

// Fields are those of the pipeline alone: spec.disableNetworkDiagnostics.
func (Component) Fields() []provider.Field { return nil }
