// Package faults puts faults between a client and an API server: a call that fails, whose answer is lost, that hangs,
// that is refused for a while, and a process that is dead from some write on. It is for tests of what the operator does
// then, which are here too and run against a real API server. Only test code imports it.
//
// A Line is a transport. What it does with a call is said by a Plan, which sees every call and its number:
//
//	line := faults.NewLine(faults.EachOnce(faults.Lost))
//	config.Wrap(line.Wrap)
package faults
