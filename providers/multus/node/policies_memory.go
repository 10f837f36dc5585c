package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/internal/multinet/policy"
)

// policyMemory keeps the last valid form of each policy on the disk, so that one which becomes invalid is enforced in that form also after a
// restart of the daemon or of the node.
type policyMemory struct {
	file string
	// last is what the file has.
	last string
}

func newPolicyMemory(dir string) *policyMemory {
	return &policyMemory{file: filepath.Join(dir, "valid.json")}
}

// load reads what an earlier daemon has kept. A damaged file is set aside; then invalid policies isolate, as those that never were valid.
func (m *policyMemory) load() (map[types.UID]policy.Policy, error) {
	raw, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the last valid forms of policies: %w", err)
	}
	var valid map[types.UID]policy.Policy
	if err := json.Unmarshal(raw, &valid); err != nil {
		err = fmt.Errorf("the last valid forms of policies in %s are damaged: %w", m.file, err)
		return nil, errors.Join(err, os.Rename(m.file, m.file+".damaged"))
	}
	m.last = string(raw)
	return valid, nil
}

// keep writes the valid forms of all policies, if they have changed.
func (m *policyMemory) keep(valid map[types.UID]policy.Policy) error {
	raw, err := json.Marshal(valid)
	if err != nil {
		return fmt.Errorf("encode the valid forms of policies: %w", err)
	}
	if string(raw) == m.last {
		return nil
	}
	if err := durable.WriteFile(m.file, raw, 0o600); err != nil {
		return fmt.Errorf("keep the valid forms of policies: %w", err)
	}
	m.last = string(raw)
	return nil
}
