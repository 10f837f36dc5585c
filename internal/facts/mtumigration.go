package facts

import (
	"encoding/json"
	"fmt"
)

// MTUMigrationConfigMap is the name of the ConfigMap in the operator's namespace with which the controller of a provider
// reports the progress of an MTU migration. It exists during a migration.
const MTUMigrationConfigMap = "mtu-migration"

const keyProgress = "progress"

// MTUMigration is the progress of an MTU migration. The zero value means that there is none.
type MTUMigration struct {
	// Active is true during a migration.
	Active bool `json:"active"`
	// Step is the number of the step; 0 before the first. MTU is that of the interfaces in this step, RoutableMTU the size
	// of the largest packet that is sent, 0 if that is the same. Both are in bytes.
	Step        int `json:"step"`
	MTU         int `json:"mtu"`
	RoutableMTU int `json:"routableMTU,omitempty"`
	// Done is true if every node is Ready and has reported this step.
	Done bool `json:"done"`
}

// Reached reports whether all nodes use only an MTU.
func (m MTUMigration) Reached(mtu int) bool {
	return m.Done && m.Step > 0 && m.MTU == mtu && m.RoutableMTU == 0
}

// Encode returns the data of the ConfigMap.
func (m MTUMigration) Encode() (map[string]string, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the progress of the MTU migration: %w", err)
	}
	return map[string]string{keyProgress: string(raw)}, nil
}

// DecodeMTUMigration decodes the data of the ConfigMap; nil or invalid data is the zero value, with which users wait until it
// is written again.
func DecodeMTUMigration(data map[string]string) MTUMigration {
	var m MTUMigration
	if data == nil || json.Unmarshal([]byte(data[keyProgress]), &m) != nil {
		return MTUMigration{Active: data != nil}
	}
	return m
}
