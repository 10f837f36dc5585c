package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// LoadState reads what SaveState has written. Without a file found is false. So it is for a damaged file, with an error.
func LoadState[T any](file string) (state T, found bool, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return state, false, nil
	}
	if err != nil {
		return state, false, fmt.Errorf("read state: %w", err)
	}
	var read T
	if err := json.Unmarshal(data, &read); err != nil {
		return state, false, fmt.Errorf("decode %s: %w", file, err)
	}
	return read, true, nil
}

// SaveState writes what an agent needs to start without the network's database: whole or not at all, also if the power fails, only
// for root, and only if it has changed.
func SaveState(file string, state any) error {
	data, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	if _, err := durable.WriteIfChanged(file, data, 0o600); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}
