package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// LoadState loads the state written by SaveState. found is false if the file is missing, and also, with an error, if it is damaged.
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

// SaveState writes the state that an agent needs to start without the network's database. It is atomic even on a power failure, readable only by root, and
// writes only changes.
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
