package ipsec

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
)

// Remove removes the remains of the agent from the node. The agent must not be running.
func Remove(ctx context.Context, c config.Config) error {
	errs := []error{UnblockCleartext(ctx), (&userspace{}).remove()}
	certificate, key, pending := Identity("", c).Files()
	for _, f := range []string{certificate, key, pending, filepath.Join(c.Directories.State, "ipsec-peers.json")} {
		if err := os.Remove(f); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
