// Package node is flannel's node agent. It holds the node's subnet in etcd, and maintains the kernel's routes to the subnets of all other nodes, the rules for
// traffic that leaves the network, and the files for container runtimes and other software.
//
// Input: the configuration from the operator, etcd, the kernel. Output: in etcd the node's lease, its reservation unless one exists, and its report; routes,
// neighbours and firewall rules; subnet.env, the CNI configuration, and a file with the last valid state.
//
// It uses flannel's packages: the backends create devices and define the content of leases, the traffic manager creates the firewall rules, the lease's types
// are the values in etcd. It acquires leases and maintains routes itself, so that routes are repaired immediately and errors are reported.
//
// Invariants: it never removes the node's routes because etcd is unavailable or the process ends, never takes a subnet that another node holds, and never
// changes files in the directory of network configurations except its own.
//
// Pure functions compute the desired state (*_desired.go). Other files apply it (*_apply.go) and report the status (status.go).
package node
