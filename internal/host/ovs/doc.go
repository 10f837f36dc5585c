// Package ovs runs and configures Open vSwitch on a node: its processes, the underlay of its tunnels, its bridges and ports, and the control sockets of
// its daemons.
//
// With the userspace datapath, ovs-vswitchd and the node's ends of pods' links are in a separate network namespace, so that the node's kernel does not
// answer for pods, and the node keeps its network when ovs-vswitchd ends. A veth pair, and rules that translate the tunnel endpoint's address to the
// node's without connection tracking, connect the two namespaces for tunnel packets.
//
// The datapath is detected and not a setting (KernelDatapath): the kernel's is faster where it exists, and a node without it has no other.
package ovs
