package nmconn

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// iface is an interface with a profile, together with related settings of the document.
type iface struct {
	*nmstate.Interface
	// path is the path of the interface in the document; for an undeclared interface, that of the reference.
	path string
	// declared is true for entries of the document.
	declared bool
	// controller is the controller of a port; nil for none.
	controller *iface
	// on is the parent in the profile: the name of the interface, or the UUID of its profile.
	on string
	// ovsPort is the name of the Open vSwitch port of the interface.
	ovsPort string
	depth   int
	// mac is the desired MAC address, which may be copied.
	mac    string
	v4, v6 family
}

// family has the routes, rules and DNS configuration of a family's section in a profile.
type family struct {
	routes []route
	rules  []rule
	dns    *resolver
}

// network is a document with references resolved.
type network struct {
	doc      *nmstate.Document
	problems nmstate.Problems
	// strict is true to refuse settings for which NetworkManager drops the file.
	strict bool
	// onHost is true to accept references that need the kernel's name of an interface that is identified by an address.
	onHost bool
	// order has all interfaces in NMState's order: declared interfaces, then undeclared ones.
	order []*iface
	// kernel and bridges have the interfaces by name. An Open vSwitch bridge is not an interface of the kernel, and may share its name with one.
	kernel, bridges map[string]*iface
	// removed are the states of interfaces of the kernel that get no profile.
	removed map[string]nmstate.State
}

func newNetwork(doc *nmstate.Document) *network {
	return &network{doc: doc, kernel: map[string]*iface{}, bridges: map[string]*iface{}, removed: map[string]nmstate.State{}}
}

// collect adds the interfaces of the document.
func (n *network) collect() {
	for idx := range n.doc.Interfaces {
		ni := &n.doc.Interfaces[idx]
		i := &iface{Interface: ni, path: fmt.Sprintf("interfaces[%d]", idx), declared: true, mac: ni.MACAddress}
		n.checkName(i)
		index := n.index(i)
		if index[i.Name] != nil || n.removed[i.Name] != "" && !i.ovsBridge() {
			n.errorf(i, "name", "is %q a second time; merge the entries", i.Name)
			continue
		}
		if !i.Kept() {
			if !i.ovsBridge() {
				n.removed[i.Name] = i.State
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

// mention adds an undeclared interface.
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
		// An Open vSwitch bridge comes before its interface with the same name.
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

// mayHaveIP reports whether the interface's profile has IP sections. Of ports, only those of a VRF and internal ports of Open vSwitch have them.
func (i *iface) mayHaveIP() bool {
	return i.controller == nil || i.Type == nmstate.TypeOVSInterface || i.controller.Type == nmstate.TypeVRF
}

func (n *network) errorf(i *iface, key, format string, args ...any) {
	n.problems.Errorf(n.doc, i.at(key), format, args...)
}

func (n *network) warnf(i *iface, key, format string, args ...any) {
	n.problems.Warnf(n.doc, i.at(key), format, args...)
}

// dropf reports a value for which NetworkManager drops the whole file.
func (n *network) dropf(i *iface, key, format string, args ...any) {
	if n.strict {
		n.errorf(i, key, format, args...)
		return
	}
	n.warnf(i, key, format+" (NetworkManager drops the file)", args...)
}

// at returns the path of a value of the interface.
func (i *iface) at(key string) string {
	if !i.declared || key == "" {
		return i.path
	}
	return i.path + "." + key
}
