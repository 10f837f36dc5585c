package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// Remove removes what the daemons and the shim have left on the node. It refuses while pods there have further networks: nothing would remove these
// later.
func Remove(config agentconfig.Config) error {
	all, err := attach.ReadSaved(config.StateDir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(s attach.Saved) bool { return len(s.Networks) > 1 }) {
		return errors.New("pods on this node still have further networks; delete them first")
	}
	var errs []error
	if config.WrapNetwork {
		errs = append(errs, wrapper{config.ConfDirRuntime}.remove())
	}
	// The directories are mounts.
	for _, dir := range []string{config.StateDir, config.AddressDir, config.DHCPDir, filepath.Dir(config.Socket), filepath.Dir(config.WhereaboutsSocket), filepath.Dir(config.DHCPSocket), filepath.Dir(config.PolicySocket)} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("clean %s: %w", dir, err))
		}
		for _, e := range entries {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
