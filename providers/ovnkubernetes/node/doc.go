// Package node is the node agent of OVN-Kubernetes. It configures ovn-controller and Open vSwitch, manages the management port through which the node reaches
// pods and pods leave the cluster, attaches pods with the addresses assigned by the master, and writes the CNI configuration once all of this works. It reads
// the Node and the Pods of its node. It writes only events and annotations of its own pod to the Kubernetes API.
package node
