// Package flows computes the OpenFlow flows of a node of the network OpenShiftSDN: what bridge br0 does with every packet, as a pure function
// of the cluster's objects and of the pods of the node. The tables are those of OpenShift's SDN, with what a userspace datapath needs in addition.
//
// Each flow belongs to a Rule, which has its table, priority and a sentence; Reference writes them as a document. What drops a packet is always
// a flow with a note, so that a trace says why.
package flows

import (
	"net"
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/openflow"
)

// The numbers of the ports of br0 that every node has.
const (
	// TunnelPort leads to all other nodes, NodePort to the node's kernel by the interface tun0.
	TunnelPort uint32 = 1
	NodePort   uint32 = 2
)

// Mode is how pods are isolated.
type Mode string

// The modes.
const (
	// Subnet isolates nothing.
	Subnet Mode = "Subnet"
	// Multitenant isolates namespaces with different virtual networks, except those with the number 0.
	Multitenant Mode = "Multitenant"
	// NetworkPolicy isolates as policies say.
	NetworkPolicy Mode = "NetworkPolicy"
)

// Global is the VNID of what is connected with all others in mode Multitenant, and of the nodes.
const Global uint32 = 0

// Input is all that the flows of a node depend on. The order of lists makes no difference. All addresses are IPv4.
type Input struct {
	Mode Mode
	// ClusterNetworks are the pods of all nodes, ServiceNetwork the addresses of Services, VXLANPort the UDP port of tunnels.
	ClusterNetworks []netip.Prefix
	ServiceNetwork  netip.Prefix
	VXLANPort       uint16
	// Address is the node's, Subnet its block, whose first address is that of tun0, and TunnelMAC the hardware address of tun0.
	Address   netip.Addr
	Subnet    netip.Prefix
	TunnelMAC net.HardwareAddr
	// Peers are the other nodes.
	Peers []Peer
	// Pods are those of this node.
	Pods []Pod
	// VNIDs are the virtual networks by namespace. Those of pods are in Pod.
	VNIDs map[string]uint32
	// Policies are enforced in mode NetworkPolicy. Those that select no pod of the node make no flows.
	Policies []netpolicy.Policy
	// Addresses are those of all pods that policies name, of all nodes.
	Addresses map[netpolicy.ID][]netip.Addr
	// Hosts are the addresses of other nodes by what stands for them among the peers of ingress rules.
	Hosts map[netpolicy.ID]netip.Addr
	// Firewalls are the policies for traffic that leaves the cluster network, one for each VNID that has any.
	Firewalls []Firewall
	// EgressIPs are the VNIDs whose traffic leaves with addresses of their own.
	EgressIPs []EgressIP
	// Multicast are the VNIDs in which pods may send multicast.
	Multicast []uint32
}

// Peer is another node, or an appliance that has a block.
type Peer struct {
	Name    string
	Address netip.Addr
	Subnet  netip.Prefix
	// FixedVNID, if not nil, is the VNID of all packets to it.
	FixedVNID *uint32
}

// Pod is a pod of the node.
type Pod struct {
	netpolicy.ID
	Address netip.Addr
	MAC     net.HardwareAddr
	// Port is the number of its port of the bridge.
	Port uint32
	VNID uint32
	// Limits are those of its bandwidth.
	Limits bandwidth.Limits
}

// Firewall is an EgressNetworkPolicy.
type Firewall struct {
	VNID uint32
	// Name says which, for people: "EgressNetworkPolicy shop/default".
	Name string
	// Closed drops everything, independent of the rules: why says the reason.
	Closed string
	// Rules are in the order of the policy: the first that matches decides. Without a match a packet passes.
	Rules []FirewallRule
}

// FirewallRule is one rule. Without destinations it matches nothing: a name without an address.
type FirewallRule struct {
	Deny         bool
	Destinations []netip.Prefix
}

// EgressIP are the nodes by which the traffic of a VNID leaves the cluster.
type EgressIP struct {
	VNID uint32
	// Name says for people whose they are: "namespace shop".
	Name string
	// Local is true if this node has one of the addresses: then it uses that one alone.
	Local bool
	// Nodes are the addresses of the other nodes that do, if they can be reached. Without any, and not Local, traffic is dropped.
	Nodes []netip.Addr
	// Dropped, if not empty, is why all is dropped, independent of the nodes. Only is then, if not nil, the pods of this node that it concerns: the
	// namespace shares its VNID with others.
	Dropped string
	Only    []netip.Addr
}

// Result are the flows of a node.
type Result struct {
	Flows openflow.Set
	// Problems are objects that contradict others, each with what is done instead.
	Problems []string
}

// RouterAddress is the address of tun0 in a node's block: the next hop of its pods, and the source of what the node itself sends to pods.
func RouterAddress(subnet netip.Prefix) netip.Addr { return subnet.Masked().Addr().Next() }

// MasqueradeAddress is the source of what reaches pods from outside of the cluster by the node, so that it is not taken for the node.
func MasqueradeAddress(subnet netip.Prefix) netip.Addr { return RouterAddress(subnet).Next() }

// PodMAC is the hardware address of a pod's interface: known from its address.
func PodMAC(address netip.Addr) net.HardwareAddr {
	b := address.As4()
	return net.HardwareAddr{0x0a, 0x58, b[0], b[1], b[2], b[3]}
}

// EgressMAC is the hardware address with which a packet that leaves by an egress IP of this node reaches tun0: it carries the VNID, since marks do
// not pass from Open vSwitch to the kernel.
func EgressMAC(vnid uint32) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0, 0, byte(vnid >> 16), byte(vnid >> 8), byte(vnid)}
}

// GuardMAC is that of packets which the kernel of this node gets for another reason, as they are for a Service or an answer, from VNIDs that have egress IPs:
// the kernel ensures that they do not leave the cluster with the address of the node.
func GuardMAC(vnid uint32) net.HardwareAddr {
	mac := EgressMAC(vnid)
	mac[2] = 1
	return mac
}
