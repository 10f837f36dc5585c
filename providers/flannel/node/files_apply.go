package node

import (
	"fmt"
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/host/cniconf"
	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// writeSubnetEnv writes flannel's file of variables if its content differs.
func writeSubnetEnv(config agentconfig.Config, v4, v6 netip.Prefix, mtu int) error {
	if _, err := durable.WriteIfChanged(config.SubnetFile, subnetEnv(config, v4, v6, mtu), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", config.SubnetFile, err)
	}
	return nil
}

// writeConflist writes the CNI configuration, which makes the node ready for pods.
func writeConflist(config agentconfig.Config, v4, v6 netip.Prefix, mtu int) error {
	data, err := conflist(config, v4, v6, mtu)
	if err != nil {
		return err
	}
	return cniFile(config).Write(data, config.CNI.BinDir, neededPlugins(config)...)
}

// cniFile returns the agent's file in the directory of network configurations.
func cniFile(config agentconfig.Config) cniconf.File {
	return cniconf.File{Dir: config.CNI.ConfDir, Name: confName}
}
