package livestate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Concrete returns a copy of a document in which everything is said outright: interfaces that are found by their MAC address
// have the name of the host's, copy-mac-from is the address that it means, the internal port that a bridge lists
// without declaring it is declared. All errors are reported at once: an interface that the host does not have, a
// copy from nowhere.
func Concrete(doc *nmstate.Document, live State) (*nmstate.Document, error) {
	out := *doc
	out.Interfaces = slices.Clone(doc.Interfaces)
	var failures []error
	renamed := map[string]string{}
	for n := range out.Interfaces {
		i := &out.Interfaces[n]
		if i.Identifier != nmstate.IdentifierMAC || !i.Kept() {
			continue
		}
		link, ok := live.LinkByMAC(strings.ToLower(i.MACAddress))
		if !ok {
			failures = append(failures, fmt.Errorf("interfaces[%d].mac-address: no interface of this host has the address %s", n, i.MACAddress))
			continue
		}
		renamed[i.Name] = link.Name
		i.Name, i.Identifier, i.MACAddress = link.Name, nmstate.IdentifierName, ""
	}
	rename(&out, renamed)
	declare(&out)
	for n := range out.Interfaces {
		if err := copyMAC(&out, n, live); err != nil {
			failures = append(failures, err)
		}
	}
	failures = append(failures, missing(&out, live)...)
	return &out, errors.Join(failures...)
}

// declare adds the internal port of the bridge's own name where a bridge lists it and the document does not
// have it, and moves what belongs to it there.
func declare(doc *nmstate.Document) {
	for n := range doc.Interfaces {
		b := doc.Interfaces[n]
		if b.Kind() != nmstate.TypeOVSBridge || !b.Up() || b.OVSBridge == nil {
			continue
		}
		internal := slices.IndexFunc(doc.Interfaces, func(i nmstate.Interface) bool { return i.Name == b.Name && i.Kind() == nmstate.TypeOVSInterface })
		listed := slices.ContainsFunc(b.OVSBridge.Port, func(p nmstate.OVSPort) bool { return p.Name == b.Name })
		if internal < 0 && listed {
			doc.Interfaces = append(doc.Interfaces, nmstate.Interface{Name: b.Name, Type: nmstate.TypeOVSInterface, State: nmstate.StateUp})
			internal = len(doc.Interfaces) - 1
		}
		// A bridge has no device, and so no address: what it copies is meant for its port.
		if i := &doc.Interfaces[n]; i.CopyMACFrom != "" && internal >= 0 {
			if port := &doc.Interfaces[internal]; port.MACAddress == "" && port.CopyMACFrom == "" {
				port.CopyMACFrom = i.CopyMACFrom
			}
			i.CopyMACFrom = ""
		}
	}
}

func copyMAC(doc *nmstate.Document, n int, live State) error {
	i := &doc.Interfaces[n]
	if i.CopyMACFrom == "" || !i.Up() {
		return nil
	}
	from := i.CopyMACFrom
	i.CopyMACFrom = ""
	for _, other := range doc.Interfaces {
		if other.Name == from && other.MACAddress != "" {
			i.MACAddress = other.MACAddress
			return nil
		}
	}
	link, ok := live.Link(from)
	if !ok {
		return fmt.Errorf("interfaces[%d].copy-mac-from: this host has no interface %s", n, from)
	}
	i.MACAddress = strings.ToUpper(link.MAC)
	if link.PermanentMAC != "" { // the other may be a bond's, lent to its port
		i.MACAddress = strings.ToUpper(link.PermanentMAC)
	}
	return nil
}

// missing reports the interfaces that a document takes for granted and the host does not have.
func missing(doc *nmstate.Document, live State) []error {
	declared := map[string]bool{}
	for _, i := range doc.Interfaces {
		if i.Kept() && (i.Type != "" && i.Type != nmstate.TypeEthernet || i.Veth != nil) {
			declared[i.Name] = true
		}
		if i.Veth != nil {
			declared[i.Veth.Peer] = true
		}
	}
	var failures []error
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		needs := slices.Concat(Members(i), parents(i))
		if i.Up() && !declared[i.Name] {
			needs = append(needs, i.Name)
		}
		for _, name := range needs {
			if _, there := live.Link(name); !there && !declared[name] && i.Up() {
				failures = append(failures, fmt.Errorf("interfaces[%d] (%s): this host has no interface %s", n, i.Name, name))
			}
		}
	}
	return failures
}

// Members returns the interfaces that are ports of this one.
func Members(i *nmstate.Interface) []string {
	var names []string
	switch {
	case i.Bond != nil:
		names, _ = i.Bond.Ports()
	case i.LinuxBridge != nil:
		for _, p := range i.LinuxBridge.Port {
			names = append(names, p.Name)
		}
	case i.OVSBridge != nil:
		for _, p := range i.OVSBridge.Port {
			names = append(names, p.Members()...)
		}
	case i.VRF != nil:
		names = i.VRF.Port
	}
	return names
}

func parents(i *nmstate.Interface) []string {
	if p := Parent(i); p != "" {
		return []string{p}
	}
	return nil
}

// Parent returns the interface below this one; empty if there is none.
func Parent(i *nmstate.Interface) string {
	switch {
	case i.VLAN != nil:
		return i.VLAN.BaseIface
	case i.VXLAN != nil:
		return i.VXLAN.BaseIface
	case i.MACVLAN != nil:
		return i.MACVLAN.BaseIface
	case i.MACVTAP != nil:
		return i.MACVTAP.BaseIface
	}
	return ""
}
