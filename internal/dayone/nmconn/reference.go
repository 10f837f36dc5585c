package nmconn

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// followReferences resolves references between interfaces for profiles. The name of an interface that is identified by an address is unknown: NetworkManager
// accepts the UUID of its profile as a parent, but not for other references, which are refused.
func (n *network) followReferences() {
	for _, i := range n.all() {
		p := i.Parent()
		i.on = p
		if on := n.kernel[p]; on != nil && on.Found() && i.Kind() != nmstate.TypeInfiniBand {
			i.on = uuid(on.uuidType(), on.Name)
		}
	}
	if n.onHost {
		return
	}
	for _, r := range n.doc.References() {
		on := n.kernel[r.Name]
		if on == nil || !on.Found() || !n.needsName(r) {
			continue
		}
		n.problems.Errorf(n.doc, r.Path, "is %q, which the host finds by its %s, but a keyfile of NetworkManager needs its kernel name; "+
			"name that interface with identifier: name, or leave this to the first boot, when the name is known", r.Name, on.Identifier)
	}
}

// needsName reports whether NetworkManager requires the device name in a reference.
func (n *network) needsName(r nmstate.Reference) bool {
	switch r.Role {
	case nmstate.RolePrimary, nmstate.RoleHSRPort, nmstate.RolePeer, nmstate.RoleRule:
		return true
	case nmstate.RoleParent:
		return slices.ContainsFunc(n.order, func(i *iface) bool { return i.at("infiniband.base-iface") == r.Path })
	}
	return false
}

// checkIdentifier refuses an interface without the address of its identifier.
func (n *network) checkIdentifier(i *iface) {
	switch {
	case i.Identifier == nmstate.IdentifierMAC && i.MACAddress == "":
		n.errorf(i, "mac-address", "is missing; identifier: mac-address finds the interface by it")
	case i.Identifier == nmstate.IdentifierPCI && i.PCIAddress == "":
		n.errorf(i, "pci-address", "is missing; identifier: pci-address finds the interface by it")
	}
	card := i.Kind() == nmstate.TypeEthernet || i.Kind() == nmstate.TypeVeth || i.Kind() == nmstate.TypeInfiniBand
	if i.Found() && (!card || i.Veth != nil) {
		n.errorf(i, "identifier", "is %s, which finds a network card; an interface of type %s is created by its name", i.Identifier, i.Kind())
	}
}
