package provider

// Class says how a change of a field takes effect on a network that is in use.
type Class string

// The classes, from the one that no one notices to the one that is refused.
const (
	// Live: in effect at once. Nothing restarts.
	Live Class = "live"
	// Rolling: the network's own pods restart, node by node.
	Rolling Class = "rolling"
	// Reboot: nodes restart, one after another.
	Reboot Class = "reboot"
	// Migration: in phases that are guided and can be turned back.
	Migration Class = "migration"
	// Forbidden: not while the network is in use.
	Forbidden Class = "forbidden"
)

// Disruption says what users of the network notice of a change, at worst.
type Disruption string

// The disruptions, in the order of their weight.
const (
	NoDisruption     Disruption = "none"
	PodsRestart      Disruption = "pods restart"
	ConnectionsReset Disruption = "connections reset"
	NodesReboot      Disruption = "nodes reboot"
	Outage           Disruption = "outage"
)

// Field says what a change of one field of the specification means.
type Field struct {
	// Path is the path of the field, without indexes: spec.clusterNetwork.cidr. It stands for all fields below it that
	// have no entry of their own.
	Path string
	// Class and Disruption are those of the worst change of the field that is not refused, or of any change if all are.
	Class      Class
	Disruption Disruption
	// Grows are the types of network, with commas between them, for which a shorter prefix that begins at the same address
	// is no change of Class, but Rolling, with PodsRestart; empty for all fields but that of the pools.
	Grows string
	// Growth is a sentence that says what a user notices when a pool grows; empty where Grows is.
	Growth string
	// Acknowledge is true if a change that is refused is made nevertheless once its hash is acknowledged.
	Acknowledge bool
	// When is a condition that the acknowledgement depends on, for people, as a clause: "it becomes false". A function
	// beside the table checks it. Empty is for every change that Fixed refuses.
	When string
	// Reason is a sentence that says why, for people.
	Reason string
	// Fixed is the rule that refuses every change from one value of the field to another, leaving it out excepted; empty if
	// there is no such rule. CheckFields and the admission policies enforce it. Of a field of the class Migration they
	// refuse no change while spec.migration.mtu announces one: which values it may have then is a rule of the migration.
	Fixed string
	// Unset is true if having no value is one that Fixed holds fast, too.
	Unset bool
	// Subject names what Fixed does not let change, with its article, in a message that begins with "cannot change": "the
	// flannel backend". Empty is the name of the field.
	Subject string
	// LeftOut is the value that leaving the field out stands for, as text: "false". Empty is for a field that keeps what is
	// applied when it is left out, or gets a default; Fixed then ignores a field that is left out, unless Unset is true.
	LeftOut string
	// Choice are the names of fields directly below Path of which one is used: the first, unless another one is set.
	// The value that Fixed holds fast is then the name of the one that is used. Fields below one that is not used are not
	// compared. A field without Choice that has fields of its own stands for each of those.
	Choice []string
	// Reader is the package that reads the field, or the directory of the packages that do, as a path from the root of the
	// module. Empty is the package of the provider or component that declares the field.
	Reader string
	// Unread is why no package reads the field, as a clause: "the operator does not read it". A field with it has no effect.
	Unread string
	// Needs is what the field has an effect with alone; empty for one that always has.
	Needs Need
}

// Need is what a field needs to have an effect.
type Need string

const (
	// NeedsNetwork is for a field outside the provider's part of the specification that only the networks implement whose
	// Traits.Implements names it.
	NeedsNetwork Need = "network"
	// NeedsComponent is for a field that has an effect only while the component that declares it is enabled.
	NeedsComponent Need = "component"
)
