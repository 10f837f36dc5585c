package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/sysctls"
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
	for _, dir := range []string{config.StateDir, config.AddressDir, config.DHCPDir, config.PolicyDir, filepath.Dir(config.Socket), filepath.Dir(config.WhereaboutsSocket), filepath.Dir(config.DHCPSocket), filepath.Dir(config.PolicySocket)} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("clean %s: %w", dir, err))
		}
		for _, e := range entries {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(append(errs, removeSocket(config.DHCPLegacySocket), removeSysctls(config.SysctlFile))...)
}

// removeSocket removes a socket unless a daemon serves there, which is another one.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil
	}
	if conn, dialErr := net.Dial("unix", path); dialErr == nil {
		return conn.Close()
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket of the program of containernetworking: %w", err)
	}
	return nil
}

// InstallSysctls gives the node the default list of sysctls, unless it has one. Without a list, the plugin tuning sets every sysctl.
func InstallSysctls(config agentconfig.Config) error {
	if _, err := os.Lstat(config.SysctlFile); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	const everyone = 0o644
	if err := durable.WriteFile(config.SysctlFile, []byte(sysctls.Default()), everyone); err != nil {
		return fmt.Errorf("install the default list of sysctls: %w", err)
	}
	return nil
}

// removeSysctls removes the default list. Another one is an administrator's.
func removeSysctls(file string) error {
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the list of sysctls: %w", err)
	}
	if string(have) != sysctls.Default() {
		return nil
	}
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("remove the default list of sysctls: %w", err)
	}
	return nil
}
