// Package faults injects faults between a client and an API server: a request that fails, whose response is lost, that stalls,
// that is refused for a while, and a process that is dead from some write on. It is for tests of what the operator does
// then, which are here too and run against a real API server. Only test code imports it.
//
// A Line is a transport. A Plan decides what it does with each request; it gets every request and its number:
//
//	line := faults.NewLine(faults.EachOnce(faults.Lost))
//	config.Wrap(line.Wrap)
package faults
