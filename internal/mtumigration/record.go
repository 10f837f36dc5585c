package mtumigration

import (
	"encoding/json"
	"fmt"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
)

// RecordKey is the key of a network's ConfigMap that has the Record, while there is one.
const RecordKey = "mtu-migration"

// Record is the rendered record of an MTU migration for the controller that watches agents: the state for agents and the migration. It exists
// during a migration.
type Record struct {
	State  State  `json:"state"`
	Change Change `json:"change"`
}

// Render is like Next for a filled specification. It adds the record of the migration, if there is one, to data of the network's ConfigMap. current is nil
// if the network is not in use yet.
func Render(current *State, configured int, spec *operatorv1.NetworkSpec, progress facts.MTUMigration, data map[string]string) (State, error) {
	next, change := Next(current, configured, Announced(spec), progress)
	if change == nil {
		return next, nil
	}
	text, err := json.Marshal(Record{State: next, Change: *change})
	if err != nil {
		return next, fmt.Errorf("encode the change of the MTU: %w", err)
	}
	data[RecordKey] = string(text)
	return next, nil
}

// DecodeRecord decodes the record in the data of a network's ConfigMap; nil if there is none.
func DecodeRecord(data map[string]string) (*Record, error) {
	text, found := data[RecordKey]
	if !found {
		return nil, nil
	}
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("read the change of the MTU: %w", err)
	}
	return &r, nil
}
