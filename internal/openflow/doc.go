// Package openflow represents the flows of an Open vSwitch bridge as values. A network computes the whole Set; package flows replaces
// the flows of a bridge with it.
//
// Matches and actions are in the notation of ovs-fields(7) and ovs-actions(7), written by the functions of this package. It is pure.
package openflow
