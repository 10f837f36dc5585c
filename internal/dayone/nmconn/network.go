package nmconn

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// iface is an interface that gets a profile, with what the rest of the document says about it.
type iface struct {
	*nmstate.Interface
	// path leads to the interface in the document; for one that the document only mentions, to the mention.
	path string
	// declared interfaces are entries of the document, in its order.
	declared bool
	// controller is the interface this one is a port of; nil for none.
	controller *iface
	// on is what the profile calls the interface this one is made on: its name, or the UUID of its profile.
	on string
	// ovsPort is the name of the bridge's port through which the interface is attached to Open vSwitch.
	ovsPort string
	depth   int
	// mac is the MAC address to have: its own, or the one copied.
	mac    string
	v4, v6 family
}

// family is what the rest of the document puts into one family's section of a profile.
type family struct {
	routes []route
	rules  []rule
	dns    *resolver
}

// network is a document with its relations resolved.
type network struct {
	doc      *nmstate.Document
	problems nmstate.Problems
	// strict refuses what NetworkManager drops.
	strict bool
	// onHost lets references pass that need the kernel's name of an interface found by an address.
	onHost bool
	// order has all interfaces as NMState meets them: the document's, then those it only mentions.
	order []*iface
	// kernel and bridges find interfaces by name. A bridge of Open vSwitch is not an interface of the kernel, and
	// may share its name with one.
	kernel, bridges map[string]*iface
	// gone are the states of interfaces of the kernel that get no profile.
	gone map[string]nmstate.State
}

func newNetwork(doc *nmstate.Document) *network {
	return &network{doc: doc, kernel: map[string]*iface{}, bridges: map[string]*iface{}, gone: map[string]nmstate.State{}}
}

// collect takes the interfaces of the document.
func (n *network) collect() {
	for idx := range n.doc.Interfaces {
		ni := &n.doc.Interfaces[idx]
		i := &iface{Interface: ni, path: fmt.Sprintf("interfaces[%d]", idx), declared: true, mac: ni.MACAddress}
		n.checkName(i)
		index := n.index(i)
		if index[i.Name] != nil || n.gone[i.Name] != "" && !i.ovsBridge() {
			n.errorf(i, "name", "is %q a second time; merge the entries", i.Name)
			continue
		}
		if !i.Kept() {
			if !i.ovsBridge() {
				n.gone[i.Name] = i.State
			}
			continue
		}
		if i.Type == nmstate.TypeLoopback {
			i.completeLoopback()
		}
		index[i.Name] = i
		n.order = append(n.order, i)
	}
}

func (n *network) index(i *iface) map[string]*iface {
	if i.ovsBridge() {
		return n.bridges
	}
	return n.kernel
}

// mention adds an interface that the document names without describing it.
func (n *network) mention(name, path string, kind nmstate.InterfaceType) *iface {
	i := &iface{Interface: &nmstate.Interface{Name: name, Type: kind}, path: path}
	n.checkName(i)
	n.kernel[name] = i
	n.order = append(n.order, i)
	return i
}

// all returns the interfaces in the order of the document.
func (n *network) all() []*iface { return n.order }

// inOrder returns the interfaces in the order of activation: by depth, then by name.
func (n *network) inOrder() []*iface {
	out := slices.Clone(n.order)
	slices.SortStableFunc(out, func(a, b *iface) int {
		// Where names are equal, a bridge of Open vSwitch comes before the interface in it.
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.Name, b.Name), cmp.Compare(rank(a), rank(b)))
	})
	return out
}

func rank(i *iface) int {
	if i.ovsBridge() {
		return 0
	}
	return 1
}

func (i *iface) ovsBridge() bool { return i.Type == nmstate.TypeOVSBridge }

// isController reports whether the interface may have ports.
func (i *iface) isController() bool {
	switch i.Type {
	case nmstate.TypeBond, nmstate.TypeLinuxBridge, nmstate.TypeOVSBridge, nmstate.TypeVRF:
		return true
	}
	return false
}

// mayHaveIP reports whether the interface's profile has sections for IP: only ports of a VRF, and interfaces of Open
// vSwitch's own, keep theirs.
func (i *iface) mayHaveIP() bool {
	return i.controller == nil || i.Type == nmstate.TypeOVSInterface || i.controller.Type == nmstate.TypeVRF
}

func (n *network) errorf(i *iface, key, format string, args ...any) {
	n.problems.Errorf(n.doc, i.at(key), format, args...)
}

func (n *network) warnf(i *iface, key, format string, args ...any) {
	n.problems.Warnf(n.doc, i.at(key), format, args...)
}

// dropf is for a value for which NetworkManager drops the whole file.
func (n *network) dropf(i *iface, key, format string, args ...any) {
	if n.strict {
		n.errorf(i, key, format, args...)
		return
	}
	n.warnf(i, key, format+" (NetworkManager drops the file)", args...)
}

// at is the path of one of the interface's values.
func (i *iface) at(key string) string {
	if !i.declared || key == "" {
		return i.path
	}
	return i.path + "." + key
}
