package daemon

import (
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// TunnelBridge is the bridge whose local port has the tunnel endpoint's address with the userspace datapath.
const TunnelBridge = "br-tun"

// Underlay returns the underlay for tunnel packets, without its MTU, and whether it is used: with the kernel datapath the node's own network is the underlay.
func Underlay(c config.Config) (ovs.Underlay, bool, error) {
	userspace := c.Datapath == config.DatapathUserspace
	if c.Datapath == config.DatapathAuto {
		kernel, err := ovs.KernelDatapath()
		if err != nil {
			return ovs.Underlay{}, false, err
		}
		userspace = !kernel
	}
	return ovs.Underlay{
		Namespace: c.Directories.SwitchNamespace, Bridge: TunnelBridge, Node: c.TunnelAddress, Ports: []uint16{c.TunnelPort}, Pair6: topology.TunnelNetwork6,
		ProcSys: c.Directories.ProcSys,
	}, userspace, nil
}
