package nmconn

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// leaveIgnored takes ports that are to be ignored out of a controller's list, as NMState does. One that only a bond's
// ports-config or a bond within Open vSwitch names stays there, and is refused.
func (n *network) leaveIgnored(c *iface) {
	list, _ := c.members()
	for _, m := range list {
		if n.gone[m.name] == nmstate.StateIgnore {
			n.problems.Warnf(n.doc, m.path, "is %q, which is to be ignored; it is left out of %s", m.name, c.Name)
		}
	}
	ignored := func(name string) bool { return n.gone[name] == nmstate.StateIgnore }
	// The document belongs to the caller; the changes stay in copies.
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

// without is a list without some; one that becomes empty is not nil, for it is still said.
func without[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}
