// Package ovs runs and drives Open vSwitch on a node: its processes, its underlay for tunnels, its bridges and ports, and the control
// sockets of its daemons. Networks that use Open vSwitch build on it.
//
// With the userspace datapath, ovs-vswitchd and the node's ends of pods' links are in a network namespace of their own, so that the
// node's kernel does not answer for pods, and the node keeps its network when ovs-vswitchd ends. Tunnel packets pass between the two by a
// pair of interfaces and rules that translate the tunnel endpoint's address to the node's, without connection tracking.
package ovs
