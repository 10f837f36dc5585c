// Package ipsec encrypts the tunnels between nodes of OVN-Kubernetes. It runs strongSwan's charon, maintains a certificate of the node, and has charon
// establish keys with every other node: Desired computes the connections from the Nodes, and the agent reconciles charon with them. The kernel encrypts
// packets, or charon itself where the kernel cannot (ESP). The phase, which the operator sets, determines whether unencrypted packets are allowed
// (BlockCleartext).
package ipsec
