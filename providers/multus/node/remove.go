package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/sysctls"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// Remove removes the remains of the daemons and the shim from the node. It returns an error while pods on the node have additional networks, including those
// with an incomplete ADD: their interfaces, addresses and leases could not be removed later.
func Remove(config agentconfig.Config) error {
	pods, err := attach.PodsWithFurtherNetworks(config.StateDir)
	if err != nil {
		return err
	}
	if len(pods) > 0 {
		return fmt.Errorf("pods on this node still have additional networks, or remains of them: %s; delete these pods, and wait until they no longer exist", phrase.Names(pods, 10))
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

// removeSocket removes a socket unless another daemon serves it.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil
	}
	if conn, dialErr := net.Dial("unix", path); dialErr == nil {
		return conn.Close()
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket of the containernetworking DHCP daemon: %w", err)
	}
	return nil
}

// InstallSysctls writes the default list of allowed sysctls unless a list exists. Without a list, the plugin tuning sets every sysctl.
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

// removeSysctls removes the default list. It keeps a different one, which an administrator has written.
func removeSysctls(file string) error {
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the list of sysctls: %w", err)
	}
	if string(content) != sysctls.Default() {
		return nil
	}
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("remove the default list of sysctls: %w", err)
	}
	return nil
}
