// Package topology has the names, addresses and annotations by which the parts of OVN-Kubernetes agree: the master that writes OVN's
// northbound database, the nodes that bind pods to it, and those who read either. Names and annotations are those that users and tools
// of OVN-Kubernetes know. It is pure.
//
// Each node has a logical switch with a block of each IP family of the cluster network. The switches hang off one distributed router. The
// first address of a block is the router's, the second one is that of the node's management port, by which the node itself reaches
// pods, and pods reach everything outside of the cluster network.
package topology

import (
	"crypto/sha256"
	"net"
	"net/netip"
)

const (
	// ClusterRouter is the distributed router to which the switches of all nodes are connected.
	ClusterRouter = "ovn_cluster_router"
	// IntegrationBridge is the bridge that ovn-controller programs.
	IntegrationBridge = "br-int"
	// ManagementLink is the interface of the node that leads to its management port.
	ManagementLink = "ovn-k8s-mp0"
)

// Switch is the logical switch of a node.
func Switch(node string) string { return node }

// RouterPort is the port of the cluster router that leads to the switch of a node.
func RouterPort(node string) string { return "rtos-" + node }

// SwitchPort is the port of the switch of a node that leads to the cluster router.
func SwitchPort(node string) string { return "stor-" + node }

// ManagementPort is the port of the switch of a node that leads to the node itself. It is the iface-id of its interface.
func ManagementPort(node string) string { return "k8s-" + node }

// PodPort is the port of a pod on the switch of its node. It is the iface-id of the pod's interface. Neither part may contain an
// underscore, so that no two pods have the same one.
func PodPort(namespace, name string) string { return namespace + "_" + name }

// RouterAddress is the address of the router in a block, with the block's length.
func RouterAddress(block netip.Prefix) netip.Prefix {
	return netip.PrefixFrom(block.Masked().Addr().Next(), block.Bits())
}

// ManagementAddress is the address of the node's management port in a block, with the block's length.
func ManagementAddress(block netip.Prefix) netip.Prefix {
	return netip.PrefixFrom(block.Masked().Addr().Next().Next(), block.Bits())
}

// MAC is the hardware address that belongs to an address: 0a:58 followed by an IPv4 address, or by four bytes of the SHA-256 of the text
// of an IPv6 address, as OVN-Kubernetes has it. A port with addresses of both families has that of its IPv4 address.
func MAC(address netip.Addr) net.HardwareAddr {
	address = address.Unmap()
	if address.Is4() {
		b := address.As4()
		return net.HardwareAddr{0x0a, 0x58, b[0], b[1], b[2], b[3]}
	}
	sum := sha256.Sum256([]byte(address.String()))
	return net.HardwareAddr{0x0a, 0x58, sum[0], sum[1], sum[2], sum[3]}
}
