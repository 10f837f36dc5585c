// Package template makes the documents of all hosts of a role of one HostNetworkConfig.
//
// Render is the whole of it: it puts values into the template, writes the part of the bridge, lays a host's own state
// over both, reads each result as NMState would, and looks at all of them together. It is pure, and the same specification
// always gives the same bytes, so that nothing is rolled out that did not change.
package template
