package livestate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Concrete returns a copy of a document with host-specific references resolved: interfaces that are identified by an address or an alternative name have their
// name on the host, copy-mac-from is replaced by the MAC address, and undeclared internal ports of bridges are declared. All errors are reported at once, such
// as missing interfaces.
func Concrete(doc *nmstate.Document, live State) (*nmstate.Document, error) {
	out := doc.Renamed(nil)
	var failures []error
	renamed := map[string]string{}
	for n := range out.Interfaces {
		i := &out.Interfaces[n]
		if !i.Found() || !i.Kept() {
			continue
		}
		link, err := findCard(i, live)
		if err != nil {
			failures = append(failures, fmt.Errorf("interfaces[%d].%w", n, err))
			continue
		}
		renamed[i.Name] = link.Name
		if i.Identifier == nmstate.IdentifierMAC {
			i.MACAddress = ""
		}
		i.Name, i.Identifier, i.PCIAddress = link.Name, nmstate.IdentifierName, ""
	}
	failures = append(failures, callByName(out, live, renamed)...)
	out = out.Renamed(renamed)
	failures = append(failures, takenAltNames(out, live)...)
	declare(out)
	for n := range out.Interfaces {
		if err := copyMAC(out, n, live); err != nil {
			failures = append(failures, err)
		}
	}
	failures = append(failures, missing(out, live)...)
	return out, errors.Join(failures...)
}

// findCard returns the host's interface with the address of a document's interface.
func findCard(i *nmstate.Interface, live State) (*Link, error) {
	if i.Identifier == nmstate.IdentifierPCI {
		if link, ok := live.LinkByPCI(i.PCIAddress); ok {
			return link, nil
		}
		return nil, fmt.Errorf("pci-address: no interface of this host has the address %s", i.PCIAddress)
	}
	if link, ok := live.LinkByMAC(strings.ToLower(i.MACAddress)); ok {
		return link, nil
	}
	return nil, fmt.Errorf("mac-address: no interface of this host has the address %s", i.MACAddress)
}

// declare adds the internal port with the bridge's name if a bridge lists it and the document does not declare it, and moves its settings there.
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
		// A bridge has no device: its copy-mac-from applies to the internal port.
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
	if link.PermanentMAC != "" { // the current address may be that of a bond
		i.MACAddress = strings.ToUpper(link.PermanentMAC)
	}
	return nil
}

// missing reports undeclared interfaces of a document that do not exist on the host.
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
		needs := below(i)
		if i.Up() && !declared[i.Name] {
			needs = append(needs, i.Name)
		}
		for _, name := range needs {
			if _, exists := live.Link(name); !exists && !declared[name] && i.Up() {
				failures = append(failures, fmt.Errorf("interfaces[%d] (%s): this host has no interface %s", n, i.Name, name))
			}
		}
	}
	return failures
}

// below returns the interfaces that this one requires.
func below(i *nmstate.Interface) (names []string) {
	for _, r := range i.References() {
		switch r.Role {
		case nmstate.RolePort, nmstate.RoleParent, nmstate.RoleHSRPort:
			if !slices.Contains(names, r.Name) {
				names = append(names, r.Name)
			}
		}
	}
	return names
}
