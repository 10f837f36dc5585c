// Package install puts the program host-network and its units on a host, which need not be the one it runs on: a container
// installs on the root directory of its node, an image builder on that of an image. Nothing is started.
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
)

// Install copies the program, the units and NetworkManager's configuration below root, and enables the units as their
// [Install] sections say. Each file is replaced in one step, and only if it differs: the host may start it at any moment.
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

// Program copies the program below root. The file is replaced in one step, and only if it differs.
func Program(root, program string) error {
	if err := copyFile(program, filepath.Join(root, hostprogram.Binary)); err != nil {
		return fmt.Errorf("install the program: %w", err)
	}
	return nil
}

// enable makes the links that "systemctl enable" would make.
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
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".host-network-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already if all went well
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}
