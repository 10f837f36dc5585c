package nmconn

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// leaveIgnored removes ignored ports from a controller's list, as NMState does. A port that only a bond's ports-config or an Open vSwitch bond names is kept
// and refused.
func (n *network) leaveIgnored(c *iface) {
	list, _ := c.members()
	for _, m := range list {
		if n.removed[m.name] == nmstate.StateIgnore {
			n.problems.Warnf(n.doc, m.path, "is %q, which is ignored (state: ignore); it is omitted from %s", m.name, c.Name)
		}
	}
	ignored := func(name string) bool { return n.removed[name] == nmstate.StateIgnore }
	// Do not modify the caller's document.
	changed := *c.Interface
	switch {
	case c.Type == nmstate.TypeBond && c.Bond != nil && c.Bond.Port != nil:
		b := *c.Bond
		b.Port, changed.Bond = without(b.Port, ignored), &b
	case c.LinuxBridge != nil && c.LinuxBridge.Port != nil:
		b := *c.LinuxBridge
		b.Port, changed.LinuxBridge = without(b.Port, func(p nmstate.LinuxBridgePort) bool { return ignored(p.Name) }), &b
	case c.OVSBridge != nil && c.OVSBridge.Port != nil:
		b := *c.OVSBridge
		b.Port, changed.OVSBridge = without(b.Port, func(p nmstate.OVSPort) bool { return p.Bond == nil && ignored(p.Name) }), &b
	case c.VRF != nil && c.VRF.Port != nil:
		v := *c.VRF
		v.Port, changed.VRF = without(v.Port, ignored), &v
	}
	c.Interface = &changed
}

// without returns a list without some elements. The result is not nil, because an empty list has a meaning.
func without[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}
