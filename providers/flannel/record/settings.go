package record

import (
	"encoding/json"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
)

// Settings has the parts of the applied specification that the operator's controller needs in addition to the agents' configuration.
type Settings struct {
	etcdcluster.Settings
	// Migration is set while the MTU is being changed.
	Migration *mtumigration.Change `json:"migration,omitempty"`
}

// Encode encodes the settings as JSON.
func (s Settings) Encode() (string, error) {
	out, err := json.MarshalIndent(s, "", "  ")
	return string(out) + "\n", err
}

// DecodeSettings decodes and validates settings.
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
