// Package agentconfig is what the operator and the node program of flannel agree on: the configuration file
// flanneld.json, which the operator writes and flanneld reads, and the keys and values that both keep in etcd.
// It is pure: no files, no network, no clock.
//
// The keys below the prefix, flannel's own and ours:
//
//	<prefix>/config                    flannel's network configuration; written by the operator only
//	<prefix>/subnets/<ip>-<len>        flannel's lease of a subnet by a node; it has a time to live
//	<prefix>/cno/reservations/<node>   which subnet a node keeps; it has no time to live
//	<prefix>/cno/agents/<node>         what the node's agent reports; it goes with the node's lease
//
// A reservation outlives the lease, so that a node that was away for long gets its subnet again. Anyone who adds a
// reservation does so in one transaction which compares that the node has none (version 0), that the subnet's
// lease key does not exist or is the node's own, and that no reservation was modified since the set of taken
// subnets was read (a comparison over the whole range of ReservationDir). Two nodes can then never hold the same
// subnet, however many write at once.
package agentconfig
