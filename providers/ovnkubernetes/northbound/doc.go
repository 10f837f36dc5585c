// Package northbound computes OVN's northbound database from API objects: a pure function of values, without a database. Rows is that function. A State
// computes the same rows incrementally, and only those affected by a change.
//
// Each node has a logical switch. The switches are connected to one distributed router, and pods are ports of their node's switch. Egress traffic goes through
// the management port to the node's kernel, which translates addresses; there are no gateway routers. ClusterIPs, external IPs and load-balancer addresses are
// load balancers of the switches. Connections to node addresses, including node ports, leave through the management port.
package northbound
