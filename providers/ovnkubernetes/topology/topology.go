// Package topology has the names, addresses and annotations that the parts of OVN-Kubernetes share: the master that writes OVN's northbound database, the
// agents that bind pods to it, and readers of either. Names and annotations are those that users and tools of OVN-Kubernetes know. It is pure.
//
// Each node has a logical switch with a block of each IP family of the cluster network. The switches are connected to one distributed router. The first
// address of a block is that of the router. The second one is that of the node's management port, through which the node reaches pods, and pods reach
// everything outside the cluster network.
package topology

import (
	"crypto/sha256"
	"net"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

const (
	// ClusterRouter is the distributed router that connects the switches of all nodes.
	ClusterRouter = "ovn_cluster_router"
	// IntegrationBridge is the bridge that ovn-controller programs.
	IntegrationBridge = "br-int"
	// ManagementLink is the node's interface to its management port.
	ManagementLink = "ovn-k8s-mp0"
)

// TunnelNetwork6 is reserved for the link between Open vSwitch and the node if tunnels are over IPv6. It is a part of the IPv6 masquerade subnet, of which only
// fd69::5 has another purpose.
var TunnelNetwork6 = netip.MustParsePrefix("fd69::/126")

// GeneveOverhead returns the overhead of a pod's packet in a tunnel in bytes: Ethernet 14, IPv4 20 or IPv6 40, UDP 8, Geneve 8, and OVN's option 8.
func GeneveOverhead(ipv6 bool) int {
	if ipv6 {
		return 78
	}
	return 58
}

// TunnelAddress returns the address to which other nodes send Geneve packets: the first internal one of the node in an IP family. It is invalid if the node has
// none.
func TunnelAddress(n *corev1.Node, ipv6 bool) netip.Addr {
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if at, err := netip.ParseAddr(a.Address); err == nil && at.Unmap().Is6() == ipv6 {
			return at.Unmap()
		}
	}
	return netip.Addr{}
}

// Switch returns the name of a node's logical switch.
func Switch(node string) string { return node }

// RouterPort returns the name of the router's port to a node's switch.
func RouterPort(node string) string { return "rtos-" + node }

// SwitchPort returns the name of the port of a node's switch to the router.
func SwitchPort(node string) string { return "stor-" + node }

// ManagementPort returns the name of the port of a node's switch to the node itself. It is the iface-id of its interface.
func ManagementPort(node string) string { return "k8s-" + node }

// PodPort returns the name of a pod's port on the switch of its node. It is the iface-id of the pod's interface. Kubernetes names have no underscores, so that
// it is unique.
func PodPort(namespace, name string) string { return namespace + "_" + name }

// RouterAddress returns the router's address in a block, with the block's prefix length.
func RouterAddress(block netip.Prefix) netip.Prefix {
	return netip.PrefixFrom(block.Masked().Addr().Next(), block.Bits())
}

// ManagementAddress returns the address of the node's management port in a block, with the block's prefix length.
func ManagementAddress(block netip.Prefix) netip.Prefix {
	return netip.PrefixFrom(block.Masked().Addr().Next().Next(), block.Bits())
}

// MAC returns the hardware address for an IP address: 0a:58 followed by the IPv4 address, or by four bytes of the SHA-256 of the text of an IPv6 address, as
// in OVN-Kubernetes. A port with addresses of both families has that of its first address.
func MAC(address netip.Addr) net.HardwareAddr {
	address = address.Unmap()
	if address.Is4() {
		b := address.As4()
		return net.HardwareAddr{0x0a, 0x58, b[0], b[1], b[2], b[3]}
	}
	sum := sha256.Sum256([]byte(address.String()))
	return net.HardwareAddr{0x0a, 0x58, sum[0], sum[1], sum[2], sum[3]}
}
