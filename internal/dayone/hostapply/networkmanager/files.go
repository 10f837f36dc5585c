package networkmanager

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// keyfileMode is the only mode that NetworkManager accepts, since keyfiles may have secrets.
const keyfileMode = 0o600

// readDirectory returns the keyfiles of a directory by name, including the links with which NetworkManager masks profiles; none if the directory does not
// exist.
func readDirectory(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isKeyfile(e.Name()) {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// writeDirectory replaces the keyfiles of a directory. It reports whether it changed any.
func writeDirectory(dir string, want map[string][]byte) (bool, error) {
	existing, err := readDirectory(dir)
	if err != nil {
		return false, err
	}
	changed := false
	for name := range existing {
		if _, ok := want[name]; ok {
			continue
		}
		changed = true
		if err := durable.Remove(filepath.Join(dir, name)); err != nil {
			return changed, err
		}
	}
	for name, content := range want {
		if old, ok := existing[name]; ok && slices.Equal(old, content) {
			continue
		}
		changed = true
		if err := writeKeyfile(dir, name, content); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// writeKeyfile replaces a keyfile. NetworkManager ignores its temporary file, whose name begins with a dot.
func writeKeyfile(dir, name string, content []byte) error {
	return durable.WriteFile(filepath.Join(dir, name), content, keyfileMode)
}
