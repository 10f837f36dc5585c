// Package egressrouter computes the data path of egress routers: it parses the configuration of the CNI plugin egress-router, and returns the nftables
// rules and kernel settings that implement it. Package plugin applies them to a pod.
//
// A pod has one attachment for each IP family. Each attachment has its own table, named after the family, so that adding or removing an attachment is
// one transaction and does not affect the rules of the other.
package egressrouter

import "net/netip"

const (
	// Type is the name of the plugin: the key "type" of its configuration, and the file name of the binary.
	Type = "egress-router"
	// ClientInterface is the pod's interface in the cluster's network, where clients connect.
	ClientInterface = "eth0"
	// Mark is the mark of packets that leave by ClientInterface regardless of their destination, because their connection came in there.
	Mark = 1
	// RouteTable has the routes of marked packets.
	RouteTable = 100
	// RulePriority is that of the policy rule for marked packets.
	RulePriority = 100
)

// The error codes of the plugin. The CNI specification leaves those from 100 on to plugins.
const (
	// CodeAddressTaken means that another machine has the address.
	CodeAddressTaken = 101
	// CodeNoMaster means that the node has no interface that can be the master.
	CodeNoMaster = 102
	// CodeNoGateway means that the gateway does not answer.
	CodeNoGateway = 103
	// CodeDiffers is returned by CHECK if the pod's network differs from the result of ADD.
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
