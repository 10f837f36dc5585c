// Package node is the agent of OVN-Kubernetes on a node. It configures ovn-controller and Open vSwitch, keeps the management port by which the
// node reaches pods and pods leave the cluster, attaches pods with the addresses that the master gives them, and writes the CNI
// configuration once all of that works. It reads the Node and the Pods of its node, and writes nothing but events to the Kubernetes API.
package node
