// Package status decides the conditions of the network, and of the operator's other controllers, from their inputs at one
// moment: the findings of controllers, the live workloads with their pods, the nodes, the memory of earlier decisions, and
// the clock. Decide is the only entry point; each state that docs/status.md lists is one predicate in states.go.
//
// It is pure and starts no timers: Decision.Again is the time after which the decision may change without other input.
// Memory keeps state that the objects do not contain, such as the time since which a problem exists. It is persisted: a
// restart of the operator neither hides a failure nor invents one.
package status
