// Package template renders the documents of all hosts of a role from a HostNetworkConfig.
//
// Render replaces values in the template, adds the bridge, merges the state of a host into both, parses each result like NMState, and validates all of them
// together. The package is pure, and its output is deterministic, so that only changes are rolled out.
package template
