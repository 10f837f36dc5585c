// Package openflow describes the flows of a bridge of Open vSwitch as values. A network computes the whole Set from what it knows; package
// flows makes a bridge have exactly those.
//
// Matches and actions are in the notation of ovs-fields(7) and ovs-actions(7), written by the functions of this package. It is pure.
package openflow
