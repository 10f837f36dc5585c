package facts

import (
	"encoding/json"
	"fmt"
)

// MTUMigrationConfigMap is the name of the ConfigMap, in the operator's namespace, in which the loop of a provider says
// how far the nodes have come with a change of the MTU. It is there while one is under way.
const MTUMigrationConfigMap = "mtu-migration"

const keyProgress = "progress"

// MTUMigration is how far the nodes have come with a change of the MTU. The zero value is that none is under way.
type MTUMigration struct {
	// Active is true while one is under way.
	Active bool `json:"active"`
	// Step counts the steps; 0 is before the first. MTU is that of the interfaces in this step, RoutableMTU the longest
	// packet that is sent, 0 if that is the same. Both are in bytes.
	Step        int `json:"step"`
	MTU         int `json:"mtu"`
	RoutableMTU int `json:"routableMTU,omitempty"`
	// Done says that every node that the cluster has is Ready, and has reported this very step.
	Done bool `json:"done"`
}

// Reached reports whether all nodes use an MTU, and nothing else.
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

// DecodeMTUMigration reads the data of the ConfigMap; nil is the zero value. What cannot be read is as good as nothing
// reported: anyone who uses it waits, and it is written again.
func DecodeMTUMigration(data map[string]string) MTUMigration {
	var m MTUMigration
	if data == nil || json.Unmarshal([]byte(data[keyProgress]), &m) != nil {
		return MTUMigration{Active: data != nil}
	}
	return m
}
