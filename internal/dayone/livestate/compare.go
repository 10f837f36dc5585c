package livestate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Difference is a difference between the network and the document.
type Difference struct {
	// Subject is the name of an interface, or route, rule, dns, hostname, switch.
	Subject string `json:"subject"`
	Aspect  string `json:"aspect"`
	Want    string `json:"want"`
	Have    string `json:"have"`
}

// String returns one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %s is %s, wanted %s", d.Subject, d.Aspect, orNone(d.Have), orNone(d.Want))
}

func orNone(s string) string {
	if s == "" {
		return nothing
	}
	return s
}

// comparison collects differences of the current subject.
type comparison struct {
	doc     *nmstate.Document
	live    *State
	subject string
	found   []Difference
}

// Compare returns the differences between a document, which is a result of Concrete, and the live state. Dynamic addresses may have any value, and must exist
// if the interface has to wait for them.
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

func (c *comparison) differ(aspect, want, existing string) {
	if want != existing {
		c.found = append(c.found, Difference{Subject: c.subject, Aspect: aspect, Want: want, Have: existing})
	}
}

func (c *comparison) iface(want *nmstate.Interface) {
	if want.Kind() == nmstate.TypeOVSBridge {
		c.ovsBridge(want)
		return
	}
	existing, exists := c.live.Link(want.Name)
	switch {
	case want.State == nmstate.StateIgnore:
	case want.State == nmstate.StateAbsent:
		if exists && Virtual(want, existing) {
			c.differ("state", "absent", "present")
		}
	case c.patch(want): // it has no device
	case !exists:
		c.differ("state", "present", "absent")
	case want.State == nmstate.StateDown:
		c.differ("state", "down", upOrDown(existing.Up))
		c.altNames(want, existing)
	default:
		c.link(want, existing)
	}
}

// Virtual reports whether an absent link is removed. Network cards are not.
func Virtual(want *nmstate.Interface, existing *Link) bool {
	kind := string(want.Type)
	if existing != nil {
		kind = existing.Kind
	}
	return kind != "" && kind != string(nmstate.TypeEthernet) && kind != string(nmstate.TypeLoopback) && kind != string(nmstate.TypeInfiniBand)
}

func (c *comparison) link(want *nmstate.Interface, existing *Link) {
	c.differ("state", "up", upOrDown(existing.Up))
	if want.Type != "" && !sameKind(string(want.Type), existing.Kind) {
		c.differ("type", string(want.Type), existing.Kind)
	}
	if want.MACAddress != "" && want.Identifier != nmstate.IdentifierMAC {
		c.differ("mac-address", strings.ToLower(want.MACAddress), existing.MAC)
	}
	if want.MTU != nil {
		c.differ("mtu", fmt.Sprint(*want.MTU), fmt.Sprint(existing.MTU))
	}
	if want.Controller != nil {
		c.differ("controller", *want.Controller, existing.Controller)
	}
	c.altNames(want, existing)
	c.detail(want, existing)
	c.addresses(want, existing)
}

// sameKind reports whether a link has the desired kind. For NMState, a veth is an ethernet device; for the kernel, the internal port of a userspace Open
// vSwitch is a tap device.
func sameKind(want, existing string) bool {
	return want == existing || want == "ethernet" && existing == "veth" || want == "veth" && existing == "ethernet" || want == "ovs-interface" && existing == "tun"
}

func (c *comparison) detail(want *nmstate.Interface, existing *Link) {
	switch {
	case want.Bond != nil && existing.Bond != nil:
		if want.Bond.Mode != "" {
			c.differ("mode", want.Bond.Mode, existing.Bond.Mode)
		}
		if ports, listed := want.Bond.Ports(); listed {
			c.ports(c.linked(ports, existing.Bond.Ports), existing.Bond.Ports)
		}
	case want.VLAN != nil && existing.VLAN != nil:
		c.differ("vlan id", fmt.Sprint(want.VLAN.ID), fmt.Sprint(existing.VLAN.ID))
		c.differ("base-iface", want.VLAN.BaseIface, existing.Parent)
	case want.VXLAN != nil && existing.VXLAN != nil:
		c.differ("vxlan id", fmt.Sprint(want.VXLAN.ID), fmt.Sprint(existing.VXLAN.ID))
	case want.LinuxBridge != nil && existing.Bridge != nil && want.LinuxBridge.Port != nil:
		var ports []string
		for _, p := range want.LinuxBridge.Port {
			ports = append(ports, p.Name)
		}
		c.ports(ports, existing.Bridge.Ports)
	case want.VRF != nil && existing.VRF != nil:
		if want.VRF.RouteTableID != nil {
			c.differ("table", fmt.Sprint(*want.VRF.RouteTableID), fmt.Sprint(existing.VRF.Table))
		}
		if want.VRF.Port != nil {
			c.ports(want.VRF.Port, existing.VRF.Ports)
		}
	}
}

// linked omits desired ports that exist but are not in the bond because they have no link, since a bond tolerates them. At least one port must be in the bond.
func (c *comparison) linked(want, existing []string) []string {
	if !slices.ContainsFunc(want, func(name string) bool { return slices.Contains(existing, name) }) {
		return want
	}
	return slices.DeleteFunc(slices.Clone(want), func(name string) bool {
		l, exists := c.live.Link(name)
		return exists && !l.Carrier && l.Controller == "" && !slices.Contains(existing, name)
	})
}

func (c *comparison) ports(want, existing []string) {
	c.differ("ports", sorted(want), sorted(existing))
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

// pairs compares keys of Open vSwitch's database; a nil value means that the key must be absent.
func (c *comparison) pairs(aspect string, want nmstate.Pairs, existing map[string]string) {
	for key, value := range want {
		if value == nil {
			c.differ(aspect+" "+key, "", existing[key])
		} else {
			c.differ(aspect+" "+key, *value, existing[key])
		}
	}
}

func upOrDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}
