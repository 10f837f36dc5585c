package record

import (
	"encoding/json"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
)

// Settings are what the operator's controller needs to know of the applied specification, beside the configuration of
// the agents.
type Settings struct {
	etcdcluster.Settings
	// Migration is set while the MTU is being changed.
	Migration *mtumigration.Change `json:"migration,omitempty"`
}

// Encode writes settings out as JSON.
func (s Settings) Encode() (string, error) {
	out, err := json.MarshalIndent(s, "", "  ")
	return string(out) + "\n", err
}

// DecodeSettings reads settings, and refuses those that a controller could not act on.
func DecodeSettings(content string) (Settings, error) {
	var s Settings
	if err := json.Unmarshal([]byte(content), &s); err != nil {
		return Settings{}, fmt.Errorf("decode settings of flannel's etcd: %w", err)
	}
	if err := s.Check(); err != nil {
		return Settings{}, fmt.Errorf("decode settings of flannel's etcd: %w", err)
	}
	return s, nil
}
