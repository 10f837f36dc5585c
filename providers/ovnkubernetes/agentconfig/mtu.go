package agentconfig

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

const (
	// KeyMTU has the MTU of pods in bytes, the value of VariableMTU.
	KeyMTU = "mtu"
	// KeyMTUState has MTU as JSON. It is mounted as MTUFile, whose content changes while pods run: they do not restart.
	KeyMTUState = "mtu_state"
	// MTUDir is the directory of MTUFile in containers.
	MTUDir = "/etc/ovn-mtu"
	// MTUFile is the file of KeyMTUState.
	MTUFile = MTUDir + "/mtu.json"
)

// MTU is the desired MTU of nodes.
type MTU struct {
	// MTU is the MTU of interfaces in bytes.
	MTU int `json:"mtu"`
	// Migration is set while the MTU of a network in use is being changed.
	Migration *agentfile.MTUMigration `json:"migration,omitempty"`
}

// Encode returns the value of KeyMTUState.
func (m MTU) Encode() (string, error) {
	out, err := agentfile.Encode(MTUFile, m)
	return string(out), err
}

// DecodeMTU decodes and validates MTUFile.
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
