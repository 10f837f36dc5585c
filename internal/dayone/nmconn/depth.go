package nmconn

import "github.com/cluster-network-operator/cno/internal/dayone/nmstate"

// maxDepthPasses is the number of passes over all interfaces in which NMState determines their depths. Ports before their controllers need one pass for each
// level.
const maxDepthPasses = 4

// setDepths sets the depth of each interface below its controllers or its parent. It follows NMState's algorithm exactly, because the order of the files
// depends on it.
func (n *network) setDepths() {
	for range maxDepthPasses {
		if n.depthPass() {
			return
		}
	}
	n.problems.Errorf(n.doc, "interfaces", "are nested more than %d levels deep; put controllers before their ports", maxDepthPasses)
}

// depthPass computes the depths that follow from those known, and reports whether it was the last pass.
func (n *network) depthPass() bool {
	// By name only, like NMState, although a bridge and its interface may share a name: the interface with the bridge's name is then placed below
	// the other ports.
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

// placeChildren sets the depth of child interfaces.
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

// settles reports whether NMState considers the interface: undeclared devices and interfaces that are down stay at the top.
func (i *iface) settles() bool {
	return i.Up() && (i.declared || i.Type == nmstate.TypeOVSInterface)
}

func (i *iface) depthKnown() bool { return i.controller == nil || i.depth > 0 }

// parent returns the name of the parent interface; empty for none.
func (i *iface) parent() string {
	if i.Type == nmstate.TypeOVSInterface && i.controller != nil {
		return i.controller.Name
	}
	return i.Parent()
}
