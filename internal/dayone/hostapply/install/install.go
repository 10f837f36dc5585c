// Package install installs the binary host-network and its units below a root directory, which may be that of the node of a container, or that of an image.
// It starts nothing.
package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// Install copies the binary, the units and NetworkManager's configuration below root, and enables the units according to their [Install] sections. It
// replaces files atomically, and only if they differ, because the host may use them at any time.
func Install(root, program string, files fs.FS) error {
	if err := Program(root, program); err != nil {
		return err
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := fs.ReadFile(files, e.Name())
		if err != nil {
			return err
		}
		dir := hostprogram.Units
		if path.Ext(e.Name()) == ".conf" {
			dir = hostprogram.Config
		}
		if err := write(filepath.Join(root, dir, e.Name()), data, 0o644); err != nil {
			return fmt.Errorf("install %s: %w", e.Name(), err)
		}
		if err := enable(root, e.Name(), string(data)); err != nil {
			return fmt.Errorf("enable %s: %w", e.Name(), err)
		}
	}
	return nil
}

// Program copies the binary below root. It replaces the file atomically, and only if it differs.
func Program(root, program string) error {
	if err := copyFile(program, filepath.Join(root, hostprogram.Binary)); err != nil {
		return fmt.Errorf("install the binary: %w", err)
	}
	return nil
}

// enable creates the links of "systemctl enable".
func enable(root, unit, text string) error {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		kind := map[string]string{"WantedBy": "wants", "RequiredBy": "requires"}[key]
		if kind == "" {
			continue
		}
		for _, by := range strings.Fields(value) {
			dir := filepath.Join(root, hostprogram.Units, by+"."+kind)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			err := os.Symlink("/"+path.Join(hostprogram.Units, unit), filepath.Join(dir, unit))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}

func copyFile(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	return write(to, data, 0o755)
}

func write(to string, data []byte, mode fs.FileMode) error {
	if old, err := os.ReadFile(to); err == nil && string(old) == string(data) {
		return os.Chmod(to, mode)
	}
	return durable.WriteFile(to, data, mode)
}
