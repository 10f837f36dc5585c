package agentfile

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MTUMigration is one step of an MTU migration. The configured MTU is then that of interfaces, and RoutableMTU that of routes.
type MTUMigration struct {
	// Step numbers the steps of all migrations, so that reports of different steps are distinguishable. It is at least 1.
	Step int `json:"step"`
	// RoutableMTU is the MTU in bytes of pods' routes; 0 means the configured MTU.
	RoutableMTU int `json:"routableMTU,omitempty"`
	// PodNamespaces is the directory of pods' network namespaces, as a path in the agent's container; empty for agents that know the namespace of each pod.
	PodNamespaces string `json:"podNamespaces,omitempty"`
}

// Routable returns RoutableMTU; 0 if m is nil.
func (m *MTUMigration) Routable() int {
	if m == nil {
		return 0
	}
	return m.RoutableMTU
}

// PodMTU returns the MTU in bytes of newly created pod interfaces. mtu is the configured one, or the maximum of the network's backend.
func (m *MTUMigration) PodMTU(mtu int) int {
	return cmp.Or(m.Routable(), mtu)
}

// Validate returns every error in a step. mtu is the configured one.
func (m *MTUMigration) Validate(at *field.Path, mtu int) field.ErrorList {
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	if m.Step < 1 {
		errs = append(errs, field.Invalid(at.Child("step"), m.Step, "must be at least 1"))
	}
	if m.RoutableMTU != 0 && (m.RoutableMTU < 576 || m.RoutableMTU > mtu) {
		errs = append(errs, field.Invalid(at.Child("routableMTU"), m.RoutableMTU, fmt.Sprintf("must be 576 to %d bytes, which is mtu, or 0", mtu)))
	}
	if m.PodNamespaces != "" {
		errs = append(errs, ValidatePath(at.Child("podNamespaces"), m.PodNamespaces)...)
	}
	return errs
}
