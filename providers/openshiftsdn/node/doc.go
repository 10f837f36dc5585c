// Package node is the agent of OpenShiftSDN on a node. It keeps the node's bridge, tunnels and rules as they should be, computes the bridge's
// flows from the objects of the cluster and the pods of the node, and attaches pods on requests of the container runtime.
package node
