package livestate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Difference is one thing that is not as the document wants it.
type Difference struct {
	// Subject is an interface, or route, rule, dns, hostname, switch.
	Subject string `json:"subject"`
	Aspect  string `json:"aspect"`
	Want    string `json:"want"`
	Have    string `json:"have"`
}

// String is one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %s is %s, wanted %s", d.Subject, d.Aspect, orNone(d.Have), orNone(d.Want))
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// comparison collects differences about one subject after the other.
type comparison struct {
	doc     *nmstate.Document
	live    *State
	subject string
	found   []Difference
}

// Compare returns what of a document is not live. The document is one that Concrete made: it names what the host has.
// What comes by itself (a lease, a router's address) must be there, whatever it is, as far as the interface has to wait for it.
func Compare(doc *nmstate.Document, live State) []Difference {
	c := &comparison{doc: doc, live: &live}
	for i := range doc.Interfaces {
		c.subject = doc.Interfaces[i].Name
		c.iface(&doc.Interfaces[i])
	}
	c.routes()
	c.rules()
	c.dns()
	c.host()
	return c.found
}

func (c *comparison) differ(aspect, want, have string) {
	if want != have {
		c.found = append(c.found, Difference{Subject: c.subject, Aspect: aspect, Want: want, Have: have})
	}
}

func (c *comparison) iface(want *nmstate.Interface) {
	if want.Kind() == nmstate.TypeOVSBridge {
		c.ovsBridge(want)
		return
	}
	have, there := c.live.Link(want.Name)
	switch {
	case want.State == nmstate.StateIgnore:
	case want.State == nmstate.StateAbsent:
		if there && Virtual(want, have) {
			c.differ("state", "absent", "present")
		}
	case c.patch(want): // has no device
	case !there:
		c.differ("state", "present", "absent")
	case want.State == nmstate.StateDown:
		c.differ("state", "down", upOrDown(have.Up))
		c.altNames(want, have)
	default:
		c.link(want, have)
	}
}

// Virtual reports whether a link goes away when it is no longer wanted. A network card does not.
func Virtual(want *nmstate.Interface, have *Link) bool {
	kind := string(want.Type)
	if have != nil {
		kind = have.Kind
	}
	return kind != "" && kind != string(nmstate.TypeEthernet) && kind != string(nmstate.TypeLoopback) && kind != string(nmstate.TypeInfiniBand)
}

func (c *comparison) link(want *nmstate.Interface, have *Link) {
	c.differ("state", "up", upOrDown(have.Up))
	if want.Type != "" && !sameKind(string(want.Type), have.Kind) {
		c.differ("type", string(want.Type), have.Kind)
	}
	if want.MACAddress != "" && want.Identifier != nmstate.IdentifierMAC {
		c.differ("mac-address", strings.ToLower(want.MACAddress), have.MAC)
	}
	if want.MTU != nil {
		c.differ("mtu", fmt.Sprint(*want.MTU), fmt.Sprint(have.MTU))
	}
	if want.Controller != nil {
		c.differ("controller", *want.Controller, have.Controller)
	}
	c.altNames(want, have)
	c.detail(want, have)
	c.addresses(want, have)
}

// sameKind reports whether a kind is what was asked for. A veth is an ethernet device to NMState; the internal port of an
// Open vSwitch in user space is a tap device to the kernel.
func sameKind(want, have string) bool {
	return want == have || want == "ethernet" && have == "veth" || want == "veth" && have == "ethernet" || want == "ovs-interface" && have == "tun"
}

func (c *comparison) detail(want *nmstate.Interface, have *Link) {
	switch {
	case want.Bond != nil && have.Bond != nil:
		if want.Bond.Mode != "" {
			c.differ("mode", want.Bond.Mode, have.Bond.Mode)
		}
		if ports, listed := want.Bond.Ports(); listed {
			c.ports(c.linked(ports, have.Bond.Ports), have.Bond.Ports)
		}
	case want.VLAN != nil && have.VLAN != nil:
		c.differ("vlan id", fmt.Sprint(want.VLAN.ID), fmt.Sprint(have.VLAN.ID))
		c.differ("base-iface", want.VLAN.BaseIface, have.Parent)
	case want.VXLAN != nil && have.VXLAN != nil:
		c.differ("vxlan id", fmt.Sprint(want.VXLAN.ID), fmt.Sprint(have.VXLAN.ID))
	case want.LinuxBridge != nil && have.Bridge != nil && want.LinuxBridge.Port != nil:
		var ports []string
		for _, p := range want.LinuxBridge.Port {
			ports = append(ports, p.Name)
		}
		c.ports(ports, have.Bridge.Ports)
	case want.VRF != nil && have.VRF != nil:
		if want.VRF.RouteTableID != nil {
			c.differ("table", fmt.Sprint(*want.VRF.RouteTableID), fmt.Sprint(have.VRF.Table))
		}
		if want.VRF.Port != nil {
			c.ports(want.VRF.Port, have.VRF.Ports)
		}
	}
}

// linked leaves out ports that the host has and that are not in their bond for lack of a link: a bond is there so that the host
// works without them. One port has to be in it.
func (c *comparison) linked(want, have []string) []string {
	if !slices.ContainsFunc(want, func(name string) bool { return slices.Contains(have, name) }) {
		return want
	}
	return slices.DeleteFunc(slices.Clone(want), func(name string) bool {
		l, there := c.live.Link(name)
		return there && !l.Carrier && l.Controller == "" && !slices.Contains(have, name)
	})
}

func (c *comparison) ports(want, have []string) {
	c.differ("ports", sorted(want), sorted(have))
}

func sorted(names []string) string {
	return strings.Join(slices.Sorted(slices.Values(names)), " ")
}

func (c *comparison) host() {
	if want := c.doc.Hostname; want != nil && want.Running != "" {
		c.subject = "hostname"
		c.differ("running", want.Running, c.live.Hostname)
	}
	c.subject = "switch"
	wanted := SwitchWanted(c.doc)
	c.pairs("external_ids", wanted.ExternalIDs, c.live.Switch.ExternalIDs)
	c.pairs("other_config", wanted.OtherConfig, c.live.Switch.OtherConfig)
}

// pairs compares keys of Open vSwitch's database; a nil value wants none.
func (c *comparison) pairs(aspect string, want nmstate.Pairs, have map[string]string) {
	for key, value := range want {
		if value == nil {
			c.differ(aspect+" "+key, "", have[key])
		} else {
			c.differ(aspect+" "+key, *value, have[key])
		}
	}
}

func upOrDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}
