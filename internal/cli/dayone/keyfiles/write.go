package keyfiles

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
)

// write writes the files to a directory. Each appears in one step and with its mode, since NetworkManager may watch the directory and a
// profile may contain a password. Other files of the directory stay.
func write(dir string, files []nmconn.File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := replace(dir, f); err != nil {
			return fmt.Errorf("write %s: %w", f.Name, err)
		}
	}
	return nil
}

func replace(dir string, f nmconn.File) error {
	// A temporary file begins with a dot, which NetworkManager ignores, and has mode 0600.
	tmp, err := os.CreateTemp(dir, ".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.WriteString(f.Content); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), filepath.Join(dir, f.Name))
}
