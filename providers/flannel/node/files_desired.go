package node

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/cniconf"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// confName is the name of the agent's file in the directory of network configurations. networkName is the name of the network in it, under which the IPAM
// plugin stores its records.
const (
	confName    = "10-flannel.conflist"
	networkName = "flannel"
)

// subnetEnv returns the content of flannel's file of variables. As in flannel, the subnet is written as its first host address, which is that of the bridge.
func subnetEnv(config agentconfig.Config, v4, v6 netip.Prefix, mtu int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "FLANNEL_NETWORK=%s\nFLANNEL_SUBNET=%s\n", config.Network.IPv4, firstHost(v4))
	if config.Network.DualStack() {
		fmt.Fprintf(&b, "FLANNEL_IPV6_NETWORK=%s\nFLANNEL_IPV6_SUBNET=%s\n", config.Network.IPv6, firstHost(v6))
	}
	fmt.Fprintf(&b, "FLANNEL_MTU=%d\nFLANNEL_IPMASQ=%v\n", mtu, config.Masquerade)
	return []byte(b.String())
}

func firstHost(p netip.Prefix) netip.Prefix { return netip.PrefixFrom(p.Addr().Next(), p.Bits()) }

type bridgeConf struct {
	Type             string   `json:"type"`
	Bridge           string   `json:"bridge"`
	IsGateway        bool     `json:"isGateway"`
	IsDefaultGateway bool     `json:"isDefaultGateway"`
	ForceAddress     bool     `json:"forceAddress"`
	HairpinMode      bool     `json:"hairpinMode"`
	IPMasq           bool     `json:"ipMasq"`
	MTU              int      `json:"mtu"`
	IPAM             ipamConf `json:"ipam"`
}

type ipamConf struct {
	Type   string        `json:"type"`
	Ranges [][]ipamRange `json:"ranges"`
}

type ipamRange struct {
	Subnet netip.Prefix `json:"subnet"`
}

// conflist returns the CNI configuration: a bridge on the node, addresses from the node's subnet, and the bridge as default gateway. The bridge plugin adds
// the default route itself, and fails if the IPAM plugin adds one, too. The agent's own rules masquerade packets, since the bridge plugin would also
// masquerade packets to pods of other nodes. forceAddress allows a change of the bridge's address after a change of the node's subnet.
func conflist(config agentconfig.Config, v4, v6 netip.Prefix, mtu int) ([]byte, error) {
	bridge := bridgeConf{
		Type: "bridge", Bridge: config.CNI.Bridge, IsGateway: true, IsDefaultGateway: true, ForceAddress: true, HairpinMode: true, MTU: mtu,
		IPAM: ipamConf{
			Type:   "host-local",
			Ranges: [][]ipamRange{{{Subnet: v4}}},
		},
	}
	if config.Network.DualStack() {
		bridge.IPAM.Ranges = append(bridge.IPAM.Ranges, []ipamRange{{Subnet: v6}})
	}
	list := cniconf.List{CNIVersion: config.CNI.CNIVersion, Name: networkName, Plugins: []any{bridge}, MultiNetwork: config.CNI.MultiNetwork}
	if config.CNI.PortMap {
		list.Plugins = append(list.Plugins, cniconf.NewPortMap())
	}
	return list.Encode()
}

// neededPlugins returns the plugins in the configuration, and loopback, which runtimes start for every pod.
func neededPlugins(config agentconfig.Config) []string {
	names := []string{"bridge", "host-local", "loopback"}
	if config.CNI.PortMap {
		names = append(names, "portmap")
	}
	return append(names, cniconf.List{MultiNetwork: config.CNI.MultiNetwork}.Programs()...)
}
