package networkmanager

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	have, err := readDirectory(dir)
	if err != nil {
		return false, err
	}
	changed := false
	for name := range have {
		if _, ok := want[name]; ok {
			continue
		}
		changed = true
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return changed, err
		}
	}
	for name, content := range want {
		if old, ok := have[name]; ok && slices.Equal(old, content) {
			continue
		}
		changed = true
		if err := writeKeyfile(dir, name, content); err != nil {
			return changed, err
		}
	}
	if !changed {
		return false, nil
	}
	return true, syncDirectory(dir)
}

// writeKeyfile writes a keyfile atomically: a reader, even after a power failure, finds the old or the new content.
func writeKeyfile(dir, name string, content []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".host-network-") // mode 0600, and a name that NetworkManager ignores
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already if all went well
	_, err = f.Write(content)
	if err := errors.Join(err, f.Chmod(keyfileMode), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}

func removeKeyfile(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDirectory syncs a directory, which may be missing.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
