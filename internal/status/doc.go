// Package status decides the conditions of the network, and of the operator's other controllers, from what is known at
// one moment: what the loops have to say (findings), the live workloads with their pods, the nodes, what was decided
// before (Memory), and the clock. Decide is the one entry; each state that docs/status.md lists is one predicate here,
// in states.go.
//
// It is pure and starts no timers: Decision.Again says when the answer may change by itself. What cannot be read off the
// objects, such as since when something has been wrong, is in Memory, which outlives the process: a restart of the
// operator neither hides a failure nor invents one.
package status
