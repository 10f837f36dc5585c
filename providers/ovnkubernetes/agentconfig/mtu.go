package agentconfig

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

const (
	// KeyMTU is the MTU of pods in bytes, from which containers have VariableMTU.
	KeyMTU = "mtu"
	// KeyMTUState is MTU as JSON. Pods of nodes have it as the file MTUFile, which changes while they run: they do not restart for it.
	KeyMTUState = "mtu_state"
	// MTUDir is where containers have MTUFile.
	MTUDir = "/etc/ovn-mtu"
	// MTUFile is the file of KeyMTUState.
	MTUFile = MTUDir + "/mtu.json"
)

// MTU is what nodes have of the MTU.
type MTU struct {
	// MTU is the MTU in bytes of interfaces.
	MTU int `json:"mtu"`
	// Migration is set while the MTU of a network in use is being changed.
	Migration *agentfile.MTUMigration `json:"migration,omitempty"`
}

// Encode returns the value of KeyMTUState.
func (m MTU) Encode() (string, error) {
	out, err := agentfile.Encode(MTUFile, m)
	return string(out), err
}

// DecodeMTU reads MTUFile, and refuses what agents could not apply.
func DecodeMTU(content []byte) (MTU, error) {
	m, err := agentfile.Decode(MTUFile, content, MTU{})
	if err != nil {
		return m, err
	}
	var errs []error
	if m.MTU < 576 || m.MTU > 65535 {
		errs = append(errs, field.Invalid(field.NewPath("mtu"), m.MTU, "must be 576 to 65535"))
	}
	for _, e := range m.Migration.Validate(field.NewPath("migration"), m.MTU) {
		errs = append(errs, e)
	}
	if err := errors.Join(errs...); err != nil {
		return m, fmt.Errorf("%s: %w", MTUFile, err)
	}
	return m, nil
}
