package provider

// Class is the way in which a change of a field becomes effective on a network in use.
type Class string

// The classes, from the least to the most severe.
const (
	// Live means that the change is effective immediately, without restarts.
	Live Class = "live"
	// Rolling means that the network's own pods restart, node by node.
	Rolling Class = "rolling"
	// Reboot means that nodes restart, one after another.
	Reboot Class = "reboot"
	// Migration means that the change is made in guided phases that can be rolled back.
	Migration Class = "migration"
	// Forbidden means that the change is refused while the network is in use.
	Forbidden Class = "forbidden"
)

// Disruption is the worst effect of a change on users of the network.
type Disruption string

// The disruptions, from the least to the most severe.
const (
	NoDisruption     Disruption = "none"
	PodsRestart      Disruption = "pods restart"
	ConnectionsReset Disruption = "connections reset"
	NodesReboot      Disruption = "nodes reboot"
	Outage           Disruption = "outage"
)

// Field describes the effect of a change of one field of the specification.
type Field struct {
	// Path is the path of the field, without indexes: spec.clusterNetwork.cidr. The entry covers all fields below it that
	// have no entry of their own.
	Path string
	// Class and Disruption are those of the worst allowed change of the field, or of any change if all are refused.
	Class      Class
	Disruption Disruption
	// Grows are the network types, separated by commas, for which a shorter prefix with the same base has the class Rolling
	// and the disruption PodsRestart; empty except for the field of the pools.
	Grows string
	// Growth is a sentence about the effect of a growing pool on users; empty if Grows is.
	Growth string
	// Acknowledge is true if a refused change is applied once its hash is acknowledged.
	Acknowledge bool
	// When is the condition for the acknowledgement as a clause: "it becomes false". A function outside the table checks
	// it. Empty means every change that Fixed refuses.
	When string
	// Reason is a sentence with the reason.
	Reason string
	// Fixed is the rule that refuses every change from one value of the field to another, except omitting it; empty if there
	// is no such rule. CheckFields and the admission policies enforce it. For a field of the class Migration they allow every
	// change while spec.migration.mtu requests one: the rules of the migration check the value then.
	Fixed string
	// Unset is true if Fixed also refuses to set a field that had no value, and to unset it.
	Unset bool
	// Subject is the object in the message of Fixed that begins with "cannot change", with its article: "the flannel
	// backend". Empty means the name of the field.
	Subject string
	// LeftOut is the value of an omitted field as text: "false". Empty means that an omitted field keeps the applied value,
	// or gets a default; Fixed then ignores an omitted field, unless Unset is true.
	LeftOut string
	// Choice are the names of fields directly below Path of which one is used: the first, unless another one is set.
	// Fixed then refuses a change of the name of the used one. Fields below an unused one are not compared. A field without
	// Choice that has subfields covers each of those.
	Choice []string
	// Reader is the package that reads the field, or the directory of such packages, as a path from the root of the module.
	// Empty means the package of the provider or component that declares the field.
	Reader string
	// Unread is the reason why no package reads the field, as a clause: "the operator does not read it". Such a field has no
	// effect.
	Unread string
	// Needs is the precondition of an effect of the field; empty if it always has one.
	Needs Need
}

// Need is the precondition of an effect of a field.
type Need string

const (
	// NeedsNetwork is for a field outside the provider's part of the specification that only networks with its path in
	// Traits.Implements implement.
	NeedsNetwork Need = "network"
	// NeedsComponent is for a field that has an effect only while the component that declares it is enabled.
	NeedsComponent Need = "component"
)
