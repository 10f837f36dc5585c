// Package diagnostics deploys the connectivity checks of the cluster: a target on every node, and a few sources that connect to targets and to the API server.
// The controller connectivitycheck configures the checks and evaluates the results. Nothing depends on either.
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
	// SourceImageVariable is the operator's environment variable with the image of the sources.
	SourceImageVariable = "NETWORK_CHECK_SOURCE_IMAGE"
	// TargetImageVariable is the one with the image of the targets.
	TargetImageVariable = "NETWORK_CHECK_TARGET_IMAGE"
	// OwnImageVariable is the one with the operator's image, which has both binaries and is the default.
	OwnImageVariable = facts.OperatorImage
)

// Component is the diagnostics as a component. The zero value is ready for use.
type Component struct{}

// New returns the component.
func New() provider.Component { return Component{} }

// Name returns NetworkDiagnostics.
func (Component) Name() string { return Name }

// Enabled always returns true: the cluster's configuration, which Observe reads, takes precedence over the specification.
func (Component) Enabled(*operatorv1.NetworkSpec) bool { return true }

// Validate returns no errors: the component has no settings.
func (Component) Validate(*operatorv1.NetworkSpec, provider.Traits) field.ErrorList { return nil }

// Default sets nothing.
func (Component) Default(spec, _ *operatorv1.NetworkSpec, _ provider.Traits, _ facts.Cluster) *operatorv1.NetworkSpec {
	return spec.DeepCopy()
}

// CheckChange returns nothing: traffic does not depend on diagnostics.
func (Component) CheckChange(_, _ *operatorv1.NetworkSpec) field.ErrorList { return nil }

// Fields returns none: spec.disableNetworkDiagnostics is a field of the pipeline.
func (Component) Fields() []provider.Field { return nil }
