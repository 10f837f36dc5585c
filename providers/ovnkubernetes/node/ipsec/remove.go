package ipsec

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
)

// Remove removes what the agent has left on the node. It may not run.
func Remove(ctx context.Context, c config.Config) error {
	errs := []error{Unguard(ctx), (&userspace{address: c.TunnelAddress, port: c.TunnelPort}).remove()}
	certificate, key, pending := Identity("", c).Files()
	for _, f := range []string{certificate, key, pending, filepath.Join(c.Directories.State, "ipsec-peers.json")} {
		if err := os.Remove(f); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
