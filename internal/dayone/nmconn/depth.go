package nmconn

import "github.com/cluster-network-operator/cno/internal/dayone/nmstate"

// passes is how often NMState looks at all interfaces to find out their depths. Ports listed before their
// controllers need one pass for each level.
const passes = 4

// setDepths finds how many interfaces must be there before each: its controllers, or the one it is a child of. It
// repeats what NMState does, in the same order, because the order of the files depends on it.
func (n *network) setDepths() {
	for range passes {
		if n.depthPass() {
			return
		}
	}
	n.problems.Errorf(n.doc, "interfaces", "are nested more than %d levels deep; put controllers before their ports", passes)
}

// depthPass computes the depths that follow from those known, and reports whether it was the last pass.
func (n *network) depthPass() bool {
	// Found by name, although a bridge and the interface in it may share one: NMState does that, and so the interface
	// of a bridge's own name ends up below the other ports.
	found, last := map[string]int{}, true
	for _, i := range n.order {
		if !i.settles() || i.depthKnown() {
			continue
		}
		c := i.controller
		switch d, ok := found[c.Name]; {
		case ok:
			found[i.Name] = d + 1
		case c.depthKnown():
			found[i.Name] = c.depth + 1
		default:
			last = false
		}
	}
	if last {
		n.placeChildren(found)
	}
	for name, d := range found {
		if i := n.kernel[name]; i != nil {
			i.depth = d
		}
	}
	return last
}

// placeChildren puts interfaces below those they are children of.
func (n *network) placeChildren(found map[string]int) {
	for _, i := range n.order {
		p := i.parent()
		if !i.settles() || p == "" {
			continue
		}
		if d, ok := found[p]; ok {
			found[i.Name] = d + 1
		} else if on := n.kernel[p]; on != nil && on.depthKnown() {
			found[i.Name] = on.depth + 1
		}
	}
}

// settles reports whether NMState considers the interface here: devices that a document only mentions stay at the
// top, and so do interfaces that are down.
func (i *iface) settles() bool {
	return i.Up() && (i.declared || i.Type == nmstate.TypeOVSInterface)
}

func (i *iface) depthKnown() bool { return i.controller == nil || i.depth > 0 }

// parent is the name of the interface this one is made on; empty for none.
func (i *iface) parent() string {
	if i.Type == nmstate.TypeOVSInterface && i.controller != nil {
		return i.controller.Name
	}
	return i.Parent()
}
