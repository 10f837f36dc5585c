// Package egressrouter is the data path of egress routers as values: what the configuration of the CNI plugin egress-router asks for, and
// the nftables rules, the settings of the kernel and the frames that carry it out. Package plugin applies them to a pod.
//
// A pod has one attachment for each family. Each has its own table, named by the family, so that adding and removing one is one transaction
// that does not touch the rules of the other.
package egressrouter

import "net/netip"

const (
	// Type is the name of the plugin: the key "type" of its configuration, and the file name of the program.
	Type = "egress-router"
	// ClientInterface is the pod's interface in the cluster's network, where clients connect.
	ClientInterface = "eth0"
	// Mark is on packets that leave by ClientInterface to every destination, since their connection came in there.
	Mark = 1
	// RouteTable has the routes of marked packets.
	RouteTable = 100
	// RulePriority is that of the policy rule for marked packets.
	RulePriority = 100
)

// The error codes of the plugin. The CNI specification leaves those from 100 on to plugins.
const (
	// CodeAddressTaken is that another machine has the address.
	CodeAddressTaken = 101
	// CodeNoMaster is that the node has no interface that can be the master.
	CodeNoMaster = 102
	// CodeNoGateway is that the gateway does not answer.
	CodeNoGateway = 103
	// CodeDiffers is the answer of CHECK if the pod is not as ADD left it.
	CodeDiffers = 104
)

// Family is an IP family.
type Family string

// The families, as users read them.
const (
	IPv4 Family = "IPv4"
	IPv6 Family = "IPv6"
)

// FamilyOf returns the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}
