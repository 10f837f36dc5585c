package policy

import (
	"cmp"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// CopyMACs returns a document in which every copy-mac-from is replaced by the MAC address meant: the permanent one
// of the live interface, or the one it has. On a bridge of Open vSwitch, which has no MAC address, it is given to the
// interface of type ovs-interface with the bridge's name. What the live state does not know stays, with a warning.
func CopyMACs(doc, live *nmstate.Document) (*nmstate.Document, nmstate.Problems) {
	out := *doc
	out.Interfaces = slices.Clone(doc.Interfaces)
	var problems nmstate.Problems
	for i := range out.Interfaces {
		from := &out.Interfaces[i]
		if from.CopyMACFrom == "" {
			continue
		}
		mac := macOf(live, doc, from.CopyMACFrom)
		at := slices.IndexFunc(out.Interfaces, func(o nmstate.Interface) bool {
			return o.Name == from.Name && (from.Type != nmstate.TypeOVSBridge || o.Type == nmstate.TypeOVSInterface) && (from.Type == nmstate.TypeOVSBridge || o.Type == from.Type)
		})
		switch {
		case mac == "":
			problems.Warnf(doc, "interfaces", "%s is to copy the MAC address of %s, which this host does not have", from.Name, from.CopyMACFrom)
		case at < 0:
			problems.Warnf(doc, "interfaces", "%s is to copy a MAC address, and has no interface of type ovs-interface to hold it", from.Name)
		default:
			out.Interfaces[at].MACAddress = mac
			from.CopyMACFrom = ""
		}
	}
	return &out, problems
}

// macOf is the MAC address of an interface: what the document gives it, or what the host has.
func macOf(live, doc *nmstate.Document, name string) string {
	if i := find(doc, name); i != nil && i.MACAddress != "" {
		return i.MACAddress
	}
	if i := find(live, name); i != nil {
		return cmp.Or(i.PermanentMACAddress, i.MACAddress)
	}
	return ""
}

// find returns the interface of the kernel with a name; nil if there is none.
func find(d *nmstate.Document, name string) *nmstate.Interface {
	if d == nil {
		return nil
	}
	i := slices.IndexFunc(d.Interfaces, func(i nmstate.Interface) bool { return i.Name == name && i.Type != nmstate.TypeOVSBridge })
	if i < 0 {
		return nil
	}
	return &d.Interfaces[i]
}
