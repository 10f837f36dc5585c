package livestate

import (
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func (c *comparison) ovsBridge(want *nmstate.Interface) {
	existing, exists := c.live.OVSBridge(want.Name)
	switch {
	case want.State == nmstate.StateIgnore:
	case want.State == nmstate.StateAbsent || want.State == nmstate.StateDown:
		c.differ("bridge", "absent", presence(exists))
	case !exists:
		c.differ("bridge", "present", "absent")
	default:
		c.bridge(want, existing)
	}
}

func (c *comparison) bridge(i *nmstate.Interface, existing *Bridge) {
	want := BridgeWanted(i, c.doc)
	if i.OVSBridge != nil && i.OVSBridge.Options != nil {
		if want.Datapath != "" {
			c.differ("datapath", want.Datapath, orSystem(existing.Datapath))
		}
		c.differ("fail-mode", want.FailMode, existing.FailMode)
	}
	if i.OVSBridge != nil && i.OVSBridge.Port != nil {
		c.bridgePorts(want, existing)
	}
	if i.OVSDB != nil {
		c.pairs("external_ids", i.OVSDB.ExternalIDs, existing.ExternalIDs)
		c.pairs("other_config", i.OVSDB.OtherConfig, existing.OtherConfig)
	}
}

// bridgePorts compares ports. It ignores additional patch ports, which OVN creates.
func (c *comparison) bridgePorts(want Bridge, existing *Bridge) {
	for _, w := range want.Ports {
		i := slices.IndexFunc(existing.Ports, func(h BridgePort) bool { return h.Name == w.Name })
		if i < 0 {
			c.differ("port "+w.Name, "present", "absent")
			continue
		}
		h := existing.Ports[i]
		c.differ("port "+w.Name, interfaceNames(w), interfaceNames(h))
		c.differ("port "+w.Name+" vlan", vlanOf(w), vlanOf(h))
		c.differ("port "+w.Name+" bond", w.BondMode, h.BondMode)
		for _, member := range h.Interfaces {
			c.differ("interface "+member.Name+" error", "", member.Error)
		}
	}
	for _, h := range existing.Ports {
		wanted := slices.ContainsFunc(want.Ports, func(w BridgePort) bool { return w.Name == h.Name })
		if !wanted && !h.Patch() {
			c.differ("port "+h.Name, "absent", "present")
		}
	}
}

// Patch reports whether the port leads to another bridge.
func (p BridgePort) Patch() bool { return len(p.Interfaces) == 1 && p.Interfaces[0].Type == "patch" }

// patch compares a patch interface, which has no device. It returns false for other interfaces.
func (c *comparison) patch(want *nmstate.Interface) bool {
	if want.Patch == nil {
		return false
	}
	for _, b := range c.live.OVS {
		for _, p := range b.Ports {
			if p.Name == want.Name && p.Patch() {
				c.differ("peer", want.Patch.Peer, p.Interfaces[0].Options["peer"])
				return true
			}
		}
	}
	c.differ("state", "present", "absent")
	return true
}

func orSystem(datapath string) string {
	if datapath == "" {
		return "system"
	}
	return datapath
}

func interfaceNames(p BridgePort) string {
	var names []string
	for _, i := range p.Interfaces {
		names = append(names, i.Name)
	}
	return sorted(names)
}

func vlanOf(p BridgePort) string {
	text := ""
	if p.Tag != nil {
		text = fmt.Sprintf("tag %d ", *p.Tag)
	}
	if p.VLANMode != "" {
		text += p.VLANMode + " "
	}
	if len(p.Trunks) > 0 {
		text += fmt.Sprint("trunks ", slices.Sorted(slices.Values(p.Trunks)))
	}
	return text
}
