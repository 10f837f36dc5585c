// Package node is flannel's agent on a node. It holds the node's subnet in etcd, keeps the kernel's routes to all
// other nodes' subnets, the rules for traffic that leaves the network, and the files that container runtimes and
// other programs read.
//
// Input: the configuration that the operator wrote, etcd, the kernel. Output: the node's lease, its reservation
// if no one made one, its report, all in etcd; routes, neighbours and firewall rules; subnet.env, the CNI
// configuration, and a file with the last good state.
//
// It uses flannel's own packages: the backends make devices and say what is in a lease, the traffic manager makes
// the firewall rules, the lease's types are the values in etcd. Taking leases and keeping routes is its own, so
// that routes are repaired at once and what fails is reported.
//
// It must never give up the node's routes because etcd cannot be reached or the program ends, never take a subnet
// that another node holds, and never touch files in the directory of network configurations but its own.
//
// What is wanted is computed by pure functions (*_desired.go), done at the edges (*_apply.go), and gathered for
// the report (status.go).
package node
