package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// enableForwarding makes the kernel forward packets between interfaces, without which no packet leaves a pod's
// bridge. A setting that is right is not written, so that read-only settings do no harm.
func enableForwarding(config agentconfig.Config) error {
	err := setSysctl(config.ProcSys, "net/ipv4/ip_forward")
	if config.Network.DualStack() {
		err = errors.Join(err, setSysctl(config.ProcSys, "net/ipv6/conf/all/forwarding"))
	}
	return err
}

// enableBridgeFilter makes traffic between pods on one bridge pass the firewall's rules, without which a service
// does not answer pods on the node of its endpoint. The settings only exist with the module br_netfilter; without
// it there is nothing to do.
func enableBridgeFilter(config agentconfig.Config) error {
	names := []string{"net/bridge/bridge-nf-call-iptables"}
	if config.Network.DualStack() {
		names = append(names, "net/bridge/bridge-nf-call-ip6tables")
	}
	var errs []error
	for _, name := range names {
		if err := setSysctl(config.ProcSys, name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func setSysctl(root, name string) error {
	file := filepath.Join(root, name)
	have, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read kernel setting: %w", err)
	}
	if strings.TrimSpace(string(have)) == "1" {
		return nil
	}
	if err := os.WriteFile(file, []byte("1"), 0o644); err != nil {
		return fmt.Errorf("kernel setting %s is %s and cannot be set to 1: %w", name, strings.TrimSpace(string(have)), err)
	}
	return nil
}
