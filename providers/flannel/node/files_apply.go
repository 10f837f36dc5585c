package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/plugins"
)

// writeSubnetEnv writes flannel's file of variables if it is not as it should be.
func writeSubnetEnv(config agentconfig.Config, v4, v6 netip.Prefix, mtu int) error {
	if _, err := durable.WriteIfChanged(config.SubnetFile, subnetEnv(config, v4, v6, mtu), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", config.SubnetFile, err)
	}
	return nil
}

// writeConflist writes the CNI configuration if it is not as it should be. It does not as long as plugins that the
// configuration names are missing: with it the node counts as ready for pods.
func writeConflist(config agentconfig.Config, v4, v6 netip.Prefix, mtu int) error {
	if config.CNI.BinDir != "" {
		if missing := plugins.Missing(config.CNI.BinDir, neededPlugins(config)...); len(missing) > 0 {
			return fmt.Errorf("the CNI configuration waits for plugins that are not in %s: %s", config.CNI.BinDir, strings.Join(missing, ", "))
		}
	}
	data, err := conflist(config, v4, v6, mtu)
	if err != nil {
		return err
	}
	name := filepath.Join(config.CNI.ConfDir, confName)
	if _, err := durable.WriteIfChanged(name, data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// readConflicting returns the files that container runtimes read before the agent's own.
func readConflicting(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read directory of CNI configurations: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return conflicting(names), nil
}
