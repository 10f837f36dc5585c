package nmconn

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// member is an entry of a controller's list of ports.
type member struct {
	name, path string
	// ovsPort is set for members of an Open vSwitch bridge.
	ovsPort string
}

// members returns the ports a controller lists, and whether it has a list.
func (i *iface) members() (out []member, listed bool) {
	switch {
	case i.Type == nmstate.TypeBond && i.Bond != nil:
		names, ok := i.Bond.Ports()
		key := "link-aggregation.port"
		if i.Bond.Port == nil {
			key = "link-aggregation.ports-config"
		}
		return named(i, key, names), ok
	case i.LinuxBridge != nil:
		for p, port := range i.LinuxBridge.Port {
			out = append(out, member{name: port.Name, path: i.at(fmt.Sprintf("bridge.port[%d].name", p))})
		}
		return out, i.LinuxBridge.Port != nil
	case i.OVSBridge != nil:
		for p := range i.OVSBridge.Port {
			port := &i.OVSBridge.Port[p]
			for _, name := range port.Members() {
				out = append(out, member{name: name, path: i.at(fmt.Sprintf("bridge.port[%d].name", p)), ovsPort: port.Name})
			}
		}
		return out, i.OVSBridge.Port != nil
	case i.VRF != nil:
		return named(i, "vrf.port", i.VRF.Port), i.VRF.Port != nil
	}
	return nil, false
}

func named(i *iface, key string, names []string) (out []member) {
	for p, name := range names {
		out = append(out, member{name: name, path: i.at(fmt.Sprintf("%s[%d]", key, p))})
	}
	return out
}

// attachPorts connects controllers and ports, and adds undeclared ports.
func (n *network) attachPorts() {
	for _, c := range n.all() {
		n.leaveIgnored(c)
		if c.ovsBridge() {
			n.giveEmptyBridgeAPort(c)
		}
		list, _ := c.members()
		for _, m := range list {
			n.attach(c, m)
		}
	}
	for _, i := range n.all() {
		if i.Controller != nil {
			n.attachToController(i)
		}
	}
}

// giveEmptyBridgeAPort adds an internal port to a bridge without ports, which Open vSwitch does not support.
func (n *network) giveEmptyBridgeAPort(c *iface) {
	if list, _ := c.members(); len(list) > 0 {
		return
	}
	n.warnf(c, "", "has no ports, which Open vSwitch does not allow; an internal port with its own name is added")
	bridge := nmstate.OVSBridge{}
	if c.OVSBridge != nil {
		bridge = *c.OVSBridge
	}
	bridge.Port = []nmstate.OVSPort{{Name: c.Name}}
	// Do not modify the caller's document.
	changed := *c.Interface
	changed.OVSBridge, c.Interface = &bridge, &changed
}

func (n *network) attach(c *iface, m member) {
	if state, removed := n.removed[m.name]; removed {
		n.problems.Errorf(n.doc, m.path, "is %q, whose state is %s; remove it from the ports, or set its state to up", m.name, state)
		return
	}
	port := n.kernel[m.name]
	if port == nil {
		port = n.undeclared(c, m)
	}
	if port.controller != nil {
		n.problems.Errorf(n.doc, m.path, "is %q, which is a port of %s already; an interface has one place", m.name, port.controller.Name)
		return
	}
	if port == c {
		n.problems.Errorf(n.doc, m.path, "is the interface itself")
		return
	}
	port.controller, port.ovsPort = c, m.ovsPort
}

// undeclared adds an undeclared port: an existing device of the host, or the internal port of an Open vSwitch bridge.
func (n *network) undeclared(c *iface, m member) *iface {
	if !c.ovsBridge() {
		return n.mention(m.name, m.path, nmstate.TypeEthernet)
	}
	if m.name == c.Name {
		return n.mention(m.name, m.path, nmstate.TypeOVSInterface)
	}
	n.problems.Warnf(n.doc, m.path, "is %q, which has no entry; it is taken for a network card. Add an entry of type ovs-interface if Open vSwitch is to make it", m.name)
	return n.mention(m.name, m.path, nmstate.TypeEthernet)
}

// attachToController handles the key controller, which must be consistent with the controller's list.
func (n *network) attachToController(i *iface) {
	want := *i.Controller
	if i.controller != nil {
		if i.controller.Name != want {
			n.errorf(i, "controller", "is %q, and %s lists it as a port; let both say the same", want, i.controller.Name)
		}
		return
	}
	if want == "" {
		return
	}
	c := n.bridges[want]
	if c == nil {
		c = n.kernel[want]
	}
	switch {
	case c == nil:
		n.errorf(i, "controller", "is %q, which is no interface of this document", want)
	case !c.isController():
		n.errorf(i, "controller", "is %q, which is of type %s and cannot have ports", want, c.Kind())
	case c.ovsBridge():
		n.errorf(i, "controller", "is %q; list the interface in the ports of that bridge, which is where Open vSwitch keeps it", want)
	default:
		if _, listed := c.members(); listed {
			n.errorf(i, "controller", "is %q, whose list of ports does not have %s; add it there", want, i.Name)
			return
		}
		i.controller = c
	}
}

// copyMACs copies MAC addresses between interfaces, if the document has them.
func (n *network) copyMACs() {
	for _, i := range n.all() {
		if i.CopyMACFrom == "" {
			continue
		}
		to := i
		switch i.Type {
		case nmstate.TypeBond, nmstate.TypeLinuxBridge, nmstate.TypeOVSInterface:
		case nmstate.TypeOVSBridge:
			if to = n.internalOf(i); to == nil {
				n.warnf(i, "copy-mac-from", "has no effect: the bridge has no internal interface of its name to hold a MAC address")
				continue
			}
		default:
			n.warnf(i, "copy-mac-from", "has no effect on type %s; only bonds, bridges and interfaces of Open vSwitch copy", i.Kind())
			continue
		}
		n.copyMAC(i, to)
	}
}

func (n *network) copyMAC(i, to *iface) {
	from := n.kernel[i.CopyMACFrom]
	switch {
	case from != nil && from.MACAddress != "":
		to.mac = from.MACAddress
		if to != i {
			n.warnf(i, "copy-mac-from", "is meant for the bridge's internal interface, which gets MAC address %s; write it there", to.mac)
		}
	case to != i:
		// NMState ignores the key here, and documents have it; it is resolved when the host applies the document.
		n.warnf(i, "copy-mac-from", "is left to the host: the document does not state the MAC address of %s", i.CopyMACFrom)
	case from == nil:
		n.errorf(i, "copy-mac-from", "is %q, which is no interface of this document; add it with its mac-address", i.CopyMACFrom)
	default:
		n.errorf(i, "copy-mac-from", "is %q, whose MAC address only the running host knows; write its mac-address into the document", i.CopyMACFrom)
	}
}

// internalOf returns the internal port of an Open vSwitch bridge; nil for none.
func (n *network) internalOf(bridge *iface) *iface {
	if i := n.kernel[bridge.Name]; i != nil && i.controller == bridge && i.Type == nmstate.TypeOVSInterface {
		return i
	}
	return nil
}
