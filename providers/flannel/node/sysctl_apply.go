package node

import (
	"errors"
	"io/fs"

	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// enableForwarding makes the kernel forward packets between interfaces, without which no packet leaves a pod's
// bridge. A setting that is right is not written, so that read-only settings do no harm.
func enableForwarding(config agentconfig.Config) error {
	err := sysctl.Set(config.ProcSys, "net/ipv4/ip_forward", "1")
	if config.Network.DualStack() {
		err = errors.Join(err, sysctl.ForwardIPv6(config.ProcSys))
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
		if err := sysctl.Set(config.ProcSys, name, "1"); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
