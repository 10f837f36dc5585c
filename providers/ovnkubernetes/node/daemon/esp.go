package daemon

import (
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/ipsec"
)

// ESP returns the ESP implementation that encrypts the tunnels of the node.
func ESP(c config.Config) (ipsec.ESP, error) {
	_, userspace, err := Underlay(c)
	if err != nil {
		return nil, err
	}
	return ipsec.NewESP(c.TunnelAddress, c.TunnelPort, c.Directories.ProcSys, !userspace)
}
