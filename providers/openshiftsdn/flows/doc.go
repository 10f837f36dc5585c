// Package flows computes the OpenFlow flows of bridge br0 on a node of OpenShiftSDN, as a pure function of the cluster's objects and the pods of the node. The
// tables are those of OpenShift's SDN, with additions for the userspace datapath.
//
// Each flow belongs to a Rule, which has its table, priority and description; Reference writes the rules as a document. Packets are dropped only by flows with
// a note, so that a trace shows the reason.
package flows

import (
	"net"
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/openflow"
)

// Numbers of the ports of br0 that every node has.
const (
	// TunnelPort leads to all other nodes. NodePort leads to the node's kernel through tun0.
	TunnelPort uint32 = 1
	NodePort   uint32 = 2
)

// Mode determines how pods are isolated.
type Mode string

// Modes of the network.
const (
	// Subnet isolates nothing.
	Subnet Mode = "Subnet"
	// Multitenant isolates namespaces with different VNIDs, except VNID 0.
	Multitenant Mode = "Multitenant"
	// NetworkPolicy isolates pods with NetworkPolicies.
	NetworkPolicy Mode = "NetworkPolicy"
)

// Global is the VNID of nodes, and of namespaces that are connected to all others in mode Multitenant.
const Global uint32 = 0

// Input has everything that the flows of a node depend on. The order of lists does not matter. All addresses are IPv4.
type Input struct {
	Mode Mode
	// ClusterNetworks are the CIDRs of all pods, ServiceNetwork is the Service CIDR, VXLANPort the UDP port of tunnels.
	ClusterNetworks []netip.Prefix
	ServiceNetwork  netip.Prefix
	VXLANPort       uint16
	// Address is the node's address. Subnet is its block; the first address of the block is that of tun0. TunnelMAC is the hardware address of tun0.
	Address   netip.Addr
	Subnet    netip.Prefix
	TunnelMAC net.HardwareAddr
	// Peers are the other nodes.
	Peers []Peer
	// Pods are the pods of this node.
	Pods []Pod
	// VNIDs are the VNIDs by namespace. Those of this node's pods are in Pod.
	VNIDs map[string]uint32
	// Policies are enforced in mode NetworkPolicy. A policy that selects no pod of the node adds no flows.
	Policies []netpolicy.Policy
	// Addresses are those of all pods, on all nodes, that policies refer to.
	Addresses map[netpolicy.ID][]netip.Addr
	// Hosts are the addresses of other nodes, by the ID that represents them among the peers of ingress rules.
	Hosts map[netpolicy.ID]netip.Addr
	// Firewalls are the egress firewalls, at most one for each VNID.
	Firewalls []Firewall
	// EgressIPs are the VNIDs with egress IPs.
	EgressIPs []EgressIP
	// Multicast are the VNIDs in which pods may send multicast.
	Multicast []uint32
	// Closed are the owners of flows that Open vSwitch refuses, with the reason: NetworkPolicies allow nothing, an egress firewall drops everything, and a pod
	// with bandwidth limits has no network.
	Closed map[string]string
}

// PolicyOwner returns the owner of the flows of the NetworkPolicies of a namespace.
func PolicyOwner(namespace string) string { return "NetworkPolicies of namespace " + namespace }

// PodOwner returns the owner of the flows of a pod with bandwidth limits. That of the flows of an egress firewall is its name.
func PodOwner(id netpolicy.ID) string { return "pod " + id.String() }

// Peer is another node, or an external host that has a block.
type Peer struct {
	Name    string
	Address netip.Addr
	Subnet  netip.Prefix
	// FixedVNID, if not nil, is the VNID of all packets to the peer.
	FixedVNID *uint32
}

// Pod is a pod of the node.
type Pod struct {
	netpolicy.ID
	Address netip.Addr
	MAC     net.HardwareAddr
	// Port is the number of its bridge port.
	Port uint32
	VNID uint32
	// Limits are the bandwidth limits of the pod.
	Limits bandwidth.Limits
}

// Firewall is an EgressNetworkPolicy.
type Firewall struct {
	VNID uint32
	// Name identifies it in notes: "EgressNetworkPolicy shop/default".
	Name string
	// Closed, if not empty, is the reason why everything is dropped, regardless of Rules.
	Closed string
	// Rules are in the order of the policy: the first match decides. Unmatched packets pass.
	Rules []FirewallRule
}

// FirewallRule is one rule. Without destinations it matches nothing: for example a name without addresses.
type FirewallRule struct {
	Deny         bool
	Destinations []netip.Prefix
}

// EgressIP has the nodes through which the traffic of a VNID leaves the cluster.
type EgressIP struct {
	VNID uint32
	// Name identifies the namespace in notes: "namespace shop".
	Name string
	// Local is true if this node has one of the addresses: then it uses only that one.
	Local bool
	// Nodes are the addresses of the other reachable nodes with an egress IP. If it is empty and Local is false, traffic is dropped.
	Nodes []netip.Addr
	// Dropped, if not empty, is the reason why traffic is dropped, regardless of Nodes. Only, if not nil, restricts this to these pods of the node: the
	// namespace shares its VNID with others.
	Dropped string
	Only    []netip.Addr
}

// Result has the flows of a node.
type Result struct {
	Flows openflow.Set
	// Problems describe objects that contradict others, each with the consequence.
	Problems []string
	// Closed has Input.Closed, and the owners of more flows than the node has for one.
	Closed map[string]string
}

// RouterAddress returns the address of tun0 in a node's block: the next hop of its pods, and the source address of the node's packets to pods.
func RouterAddress(subnet netip.Prefix) netip.Addr { return subnet.Masked().Addr().Next() }

// MasqueradeAddress returns the source address of packets from outside the cluster that reach pods through the node. It differs from RouterAddress, which
// identifies the node.
func MasqueradeAddress(subnet netip.Prefix) netip.Addr { return RouterAddress(subnet).Next() }

// PodMAC returns the hardware address of a pod's interface, which is derived from its address.
func PodMAC(address netip.Addr) net.HardwareAddr {
	b := address.As4()
	return net.HardwareAddr{0x0a, 0x58, b[0], b[1], b[2], b[3]}
}

// EgressMAC returns the hardware address of packets of a VNID that the kernel of this node sends with an egress IP. It carries the VNID, since Open vSwitch
// cannot pass marks to the kernel.
func EgressMAC(vnid uint32) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0, 0, byte(vnid >> 16), byte(vnid >> 8), byte(vnid)}
}

// DropMAC returns the hardware address of other packets to the kernel of this node, to Services or as replies, from VNIDs with egress IPs: the kernel drops
// them if they would leave the cluster with the address of the node.
func DropMAC(vnid uint32) net.HardwareAddr {
	mac := EgressMAC(vnid)
	mac[2] = 1
	return mac
}
