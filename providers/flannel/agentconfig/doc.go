// Package agentconfig has the configuration that the operator shares with flannel's agent: the configuration file
// flanneld.json, which the operator writes and flanneld reads, and the keys and values of both in etcd. It is pure: no
// files, no network, no clock.
//
// Keys below the prefix:
//
//	<prefix>/config                    flannel's network configuration; written only by the operator
//	<prefix>/subnets/<ip>-<len>        flannel's lease of a subnet by a node; it has a time to live
//	<prefix>/cno/reservations/<node>   the reserved subnet of a node; it has no time to live
//	<prefix>/cno/agents/<node>         the report of the node's agent; it expires with the agent's lease
//
// A reservation outlives the lease, so that a node that was unavailable for long gets its subnet again. A reservation
// must be added in one transaction that verifies that the node has none (version 0), that the subnet's lease key does
// not exist or is the node's own, and that no reservation was modified since the set of taken subnets was read (a
// comparison over the whole range of ReservationDir). This ensures that no two nodes hold the same subnet, regardless
// of the number of concurrent writers.
package agentconfig
