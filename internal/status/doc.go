// Package status decides the conditions of the network from what is known at one moment: what the loops have
// to say (findings), the live workloads with their pods, and the clock. Decide is the one entry; each state
// that docs/status.md lists is one predicate here.
//
// It is pure. It keeps no timers: how long something has been so is read from the times in the objects
// themselves, so that a restart of the operator neither hides a failure nor invents one.
package status
