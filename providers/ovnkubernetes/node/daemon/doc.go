// Package daemon runs the processes of Open vSwitch and OVN that a node of OVN-Kubernetes needs, each in the foreground and until its
// context ends: it prepares databases, waits for what a process needs, and ends it so that pods keep their network.
package daemon
