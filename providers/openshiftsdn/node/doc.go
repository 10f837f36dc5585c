// Package node is the node agent of OpenShiftSDN. It reconciles the node's bridge, tunnels and rules, computes the bridge's flows from the cluster's objects
// and the node's pods, and attaches pods for the container runtime.
package node
