// Package northbound computes OVN's northbound database from API objects: a pure function of values, without a database. Rows is that
// function; a State computes the same rows step by step, and only those that a change affects.
//
// Each node has a logical switch, the switches hang off one distributed router, pods are ports of their node's switch. What leaves the
// cluster network goes to the node's kernel by the node's management port, which translates addresses; there are no gateway routers.
// ClusterIPs, external IPs and load-balancer addresses are load balancers of the switches. Connections to node addresses, and so to node ports, leave by the
// management port.
package northbound
