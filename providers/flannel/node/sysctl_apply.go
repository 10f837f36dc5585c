package node

import (
	"errors"
	"io/fs"

	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// enableForwarding enables forwarding between interfaces, which pods need. It does not write correct settings, so that read-only settings are accepted.
func enableForwarding(config agentconfig.Config) error {
	err := sysctl.Set(config.ProcSys, "net/ipv4/ip_forward", "1")
	if config.Network.DualStack() {
		err = errors.Join(err, sysctl.ForwardIPv6(config.ProcSys))
	}
	return err
}

// enableBridgeFilter makes traffic between pods on one bridge pass through the firewall rules, which a Service needs if client and endpoint are on the same
// node. The settings exist only with the module br_netfilter; otherwise it does nothing.
func enableBridgeFilter(config agentconfig.Config) error {
	names := []string{"net/bridge/bridge-nf-call-iptables"}
	if config.Network.DualStack() {
		names = append(names, "net/bridge/bridge-nf-call-ip6tables")
	}
	var errs []error
	for _, name := range names {
		if err := sysctl.Set(config.ProcSys, name, "1"); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
