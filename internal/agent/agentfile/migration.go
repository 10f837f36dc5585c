package agentfile

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MTUMigration is one step of a change of the MTU. The MTU of the configuration is then what interfaces take, RoutableMTU what is sent.
type MTUMigration struct {
	// Step counts the steps of all migrations, so that what was reported of another one is not taken for this one. It
	// is at least 1.
	Step int `json:"step"`
	// RoutableMTU is the longest packet in bytes that pods send, as the MTU of their routes; 0 means the MTU of the configuration.
	RoutableMTU int `json:"routableMTU,omitempty"`
	// PodNamespaces is the directory of the pods' network namespaces, as the agent sees it; empty for agents that know the namespace of each pod.
	PodNamespaces string `json:"podNamespaces,omitempty"`
}

// Routable is RoutableMTU; 0 without a step.
func (m *MTUMigration) Routable() int {
	if m == nil {
		return 0
	}
	return m.RoutableMTU
}

// PodMTU is the MTU in bytes of the interfaces of pods that are started now: what they may send. mtu is that of
// the configuration, or what the backend of the network offers.
func (m *MTUMigration) PodMTU(mtu int) int {
	return cmp.Or(m.Routable(), mtu)
}

// Validate returns everything that is wrong with a step. mtu is that of the configuration.
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
