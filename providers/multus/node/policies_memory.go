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

// policyMemory saves the last valid version of each policy, so that a policy that becomes invalid remains enforced in that version even after a restart of the
// daemon or the node.
type policyMemory struct {
	file string
	// last is the content of the file.
	last string
}

func newPolicyMemory(dir string) *policyMemory {
	return &policyMemory{file: filepath.Join(dir, "valid.json")}
}

// load loads the saved versions. It renames a damaged file; invalid policies then isolate, as if they had never been valid.
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

// save writes the valid versions of all policies if they have changed.
func (m *policyMemory) save(valid map[types.UID]policy.Policy) error {
	raw, err := json.Marshal(valid)
	if err != nil {
		return fmt.Errorf("encode the valid forms of policies: %w", err)
	}
	if string(raw) == m.last {
		return nil
	}
	if err := durable.WriteFile(m.file, raw, 0o600); err != nil {
		return fmt.Errorf("save the valid forms of policies: %w", err)
	}
	m.last = string(raw)
	return nil
}
