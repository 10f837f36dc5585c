// Package cniplugins installs CNI plugins on a node.
package cniplugins

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// Install copies all files of the directory from to the directory to, as executables. It does not change files with the same content. It replaces other
// files atomically, so that the container runtime can start them at any time, and running plugins continue. It never removes files. It returns all
// errors, not only the first.
func Install(from, to string, log *slog.Logger) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("read directory of plugins: %w", err)
	}
	var errs []error
	found := false
	for _, entry := range entries {
		source := filepath.Join(from, entry.Name())
		// Stat follows links, which images of plugins use.
		if info, err := os.Stat(source); err != nil || !info.Mode().IsRegular() {
			continue
		}
		found = true
		target := filepath.Join(to, entry.Name())
		written, err := install(source, target)
		if err != nil {
			errs = append(errs, fmt.Errorf("install plugin %s: %w", entry.Name(), err))
			continue
		}
		log.Info("plugin installed", "plugin", target, "replaced", written)
	}
	if !found {
		errs = append(errs, fmt.Errorf("directory %s contains no plugins", from))
	}
	return errors.Join(errs...)
}

func install(source, target string) (written bool, err error) {
	if err := durable.Clean(target); err != nil {
		return false, err
	}
	in, err := os.Open(source)
	if err != nil {
		return false, err
	}
	defer in.Close()
	if same, err := sameContent(in, target); err != nil || same {
		return false, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	return true, durable.Copy(target, in, 0o755)
}

// sameContent reports whether target is an executable with the content of in.
func sameContent(in io.Reader, target string) (bool, error) {
	existing, err := os.Open(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer existing.Close()
	info, err := existing.Stat()
	if err != nil {
		return false, err
	}
	if info.Mode().Perm()&0o111 != 0o111 {
		return false, nil
	}
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(in, a)
		m, errB := io.ReadFull(existing, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return false, nil
		}
		if errA != nil || errB != nil {
			end := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
			if end(errA) && end(errB) {
				return true, nil
			}
			return false, errors.Join(errA, errB)
		}
	}
}

// Missing returns those of the named plugins that are not in the directory.
func Missing(dir string, names ...string) []string {
	var missing []string
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			missing = append(missing, name)
		}
	}
	return missing
}
