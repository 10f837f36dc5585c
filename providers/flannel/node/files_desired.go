package node

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/cniconf"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// confName is the name of the agent's own file in the directory of network configurations, networkName the name of
// the network in it. The address manager keeps its records under the network's name.
const (
	confName    = "10-flannel.conflist"
	networkName = "flannel"
)

// subnetEnv is the content of flannel's file of variables. The subnet is written as its first host address, as
// flannel does, since that is the bridge's.
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

// conflist is the configuration for the container runtime: a bridge on the node, addresses from the node's subnet,
// the bridge as the default gateway (the bridge plugin adds the default route itself; one from the address manager
// besides makes it fail). Masquerading is left to the agent's own rules, since the bridge plugin would
// also hide pods from the pods of other nodes. forceAddress lets the bridge get another address if the node ever
// gets another subnet.
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

// neededPlugins are the programs that the configuration makes the container runtime start, and loopback, which
// runtimes start for every pod.
func neededPlugins(config agentconfig.Config) []string {
	names := []string{"bridge", "host-local", "loopback"}
	if config.CNI.PortMap {
		names = append(names, "portmap")
	}
	return append(names, cniconf.List{MultiNetwork: config.CNI.MultiNetwork}.Programs()...)
}
