package keyfiles

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// write writes the files to a directory. Each appears in one step and with its mode, since NetworkManager may watch the directory and a
// profile may contain a password. Other files of the directory stay.
func write(dir string, files []nmconn.File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		// The name of the temporary file begins with a dot, which NetworkManager ignores.
		if err := durable.WriteFile(filepath.Join(dir, f.Name), []byte(f.Content), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", f.Name, err)
		}
	}
	return nil
}
