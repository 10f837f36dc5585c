// Package daemon runs the processes of Open vSwitch and OVN on a node of OVN-Kubernetes, each in the foreground until its context ends. It prepares databases,
// waits for prerequisites, and ends processes such that pods keep their network.
package daemon
