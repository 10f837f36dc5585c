// Package ipsec encrypts the tunnels between nodes of OVN-Kubernetes. It runs strongSwan's charon, keeps a certificate of the node's own, and has charon
// agree on keys with every other node: which connections there are is a function of the Nodes (Desired), which is compared with what charon has. Packets
// are encrypted by the kernel, or by charon itself where the kernel cannot (ESP). What may leave and enter in the clear is a matter of the phase, which the
// operator sets (Guard).
package ipsec
