package validation

import (
	"fmt"
	"net/netip"
	"path"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// mainTable is the kernel's routing table for routes that name none.
const mainTable = 254

const noBridge = "there is no ovs-bridge " + placement.Bridge + "; hosts with their own document do not get it automatically, and OVN-Kubernetes does not start without it"

// CheckDocument returns the problems of a valid document that would leave a host without a network that OVN-Kubernetes can use. withoutBridge is true for
// other networks, which do not need br-ex; an existing br-ex is checked nevertheless.
func CheckDocument(doc *nmstate.Document, withoutBridge bool) nmstate.Problems {
	c := &check{doc: doc, bridge: -1, internal: -1, withoutBridge: withoutBridge}
	c.reserved()
	c.findBridge()
	if c.bridge >= 0 {
		c.uplinks()
		c.host()
	}
	c.dns()
	return append(c.problems, checkProfiles(doc)...)
}

// check is the check of a document.
type check struct {
	doc      *nmstate.Document
	problems nmstate.Problems
	// bridge and internal are the indexes of br-ex and of the host's interface on it; -1 if there is none.
	bridge, internal int
	withoutBridge    bool
}

func at(i int, rest string) string { return fmt.Sprintf("interfaces[%d]%s", i, rest) }

// findInterface returns the index of an interface that is up; -1 if there is none.
func findInterface(doc *nmstate.Document, name string, kind nmstate.InterfaceType) int {
	return slices.IndexFunc(doc.Interfaces, func(i nmstate.Interface) bool { return i.Up() && i.Name == name && i.Type == kind })
}

// reserved reports interfaces with names that the pod network uses.
func (c *check) reserved() {
	patterns := []string{"br-ext", "br-int", "br-local", "br-nexthop", "br0", "ext-vxlan", "ext", "int", "genev_sys_*", "k8s-*", "ovn-k8s-*", "patch-br*", "tun0", "vxlan_sys_*"}
	check := func(where, name string) {
		for _, pattern := range patterns {
			if ok, _ := path.Match(pattern, name); ok {
				c.problems.Errorf(c.doc, where, "%q is a name that the cluster's network uses itself (%s); choose another", name, pattern)
			}
		}
	}
	for i, iface := range c.doc.Interfaces {
		if !iface.Kept() {
			continue
		}
		check(at(i, ".name"), iface.Name)
		for n, alt := range iface.AltNames {
			if !alt.Absent() {
				check(at(i, fmt.Sprintf(".alt-names[%d].name", n)), alt.Name)
			}
		}
	}
}

// findBridge requires exactly one bridge br-ex with the interface of the host.
func (c *check) findBridge() {
	for i, iface := range c.doc.Interfaces {
		switch {
		case !iface.Up() || iface.Name != placement.Bridge:
		case iface.Type == nmstate.TypeOVSInterface:
			c.internal = i
		case iface.Type != nmstate.TypeOVSBridge:
			c.problems.Errorf(c.doc, at(i, ".type"), "%s is of type %s, and must be an ovs-bridge", placement.Bridge, iface.Kind())
		case c.bridge >= 0:
			c.problems.Errorf(c.doc, at(i, ".name"), "%s is there twice; keep one", placement.Bridge)
		default:
			c.bridge = i
		}
	}
	if c.bridge < 0 && !c.withoutBridge {
		c.problems.Errorf(c.doc, "interfaces", "%s", noBridge)
	}
}

// uplinks requires an interface of the host below the bridge, without addresses and with an MTU of at least that of the bridge.
func (c *check) uplinks() {
	bridge := c.doc.Interfaces[c.bridge]
	var ports []nmstate.OVSPort
	if bridge.OVSBridge != nil {
		ports = bridge.OVSBridge.Port
	}
	listed, uplinks := false, 0
	for n, port := range ports {
		if port.Name == placement.Bridge {
			listed = true
			continue
		}
		if findInterface(c.doc, port.Name, nmstate.TypeOVSInterface) >= 0 {
			continue
		}
		uplinks++
		for _, member := range port.Members() {
			c.uplink(member, at(c.bridge, fmt.Sprintf(".bridge.port[%d]", n)))
		}
	}
	switch {
	case uplinks == 0:
		c.problems.Errorf(c.doc, at(c.bridge, ".bridge.port"), "%s has no network card, bond or VLAN as a port, so that nothing leaves the host; add one", placement.Bridge)
	case uplinks > 1:
		c.problems.Warnf(c.doc, at(c.bridge, ".bridge.port"), "%s has %d ports that lead out of the host; OVN-Kubernetes finds its uplink automatically only if there is one", placement.Bridge, uplinks)
	}
	if c.internal >= 0 && !listed {
		c.problems.Errorf(c.doc, at(c.bridge, ".bridge.port"), "the interface %s is not a port of the bridge; add it", placement.Bridge)
	}
}

func (c *check) uplink(name, listed string) {
	i := slices.IndexFunc(c.doc.Interfaces, func(i nmstate.Interface) bool { return i.Name == name && i.Type != nmstate.TypeOVSBridge })
	if i < 0 {
		c.problems.Warnf(c.doc, listed, "%s is not in interfaces; it must exist on the host already", name)
		return
	}
	iface := &c.doc.Interfaces[i]
	if !iface.Up() {
		c.problems.Errorf(c.doc, at(i, ".state"), "%s is a port of %s, and must be up", name, placement.Bridge)
	}
	for family, on := range map[string]bool{"ipv4": iface.IPv4.On(), "ipv6": iface.IPv6.On()} {
		if on {
			c.problems.Errorf(c.doc, at(i, "."+family), "%s is a port of %s, and cannot have addresses; move them to the ovs-interface %s", name, placement.Bridge, placement.Bridge)
		}
	}
	if c.internal < 0 {
		return
	}
	wants, has := c.doc.Interfaces[c.internal].MTU, mtuOf(c.doc, iface)
	if wants != nil && *wants > has {
		c.problems.Errorf(c.doc, at(c.internal, ".mtu"), "%s has an MTU of %d, and %s below it one of %d; it must be at least as large", placement.Bridge, *wants, name, has)
	}
}

// mtuOf returns the MTU of an interface: that of the document, or else that of a VLAN's parent.
func mtuOf(doc *nmstate.Document, iface *nmstate.Interface) uint64 {
	const usual = 1500         // bytes, what a network card has if no one says anything
	for range doc.Interfaces { // no chain of VLANs is longer
		if iface.MTU != nil {
			return *iface.MTU
		}
		if iface.VLAN == nil {
			break
		}
		base := iface.VLAN.BaseIface
		i := slices.IndexFunc(doc.Interfaces, func(o nmstate.Interface) bool { return o.Name == base && o.Type != nmstate.TypeOVSBridge })
		if i < 0 {
			break
		}
		iface = &doc.Interfaces[i]
	}
	return usual
}

// host requires addresses on the bridge, a fixed MAC address, and a default route.
func (c *check) host() {
	if c.internal < 0 {
		c.problems.Errorf(c.doc, at(c.bridge, ""), "there is no ovs-interface %s, so that the host itself has no address on the bridge; add it", placement.Bridge)
		return
	}
	iface, bridge := &c.doc.Interfaces[c.internal], &c.doc.Interfaces[c.bridge]
	if !iface.IPv4.On() && !iface.IPv6.On() {
		c.problems.Errorf(c.doc, at(c.internal, ""), "%s has no addresses; enable ipv4 or ipv6", placement.Bridge)
		return
	}
	if iface.MACAddress == "" && iface.CopyMACFrom == "" && bridge.CopyMACFrom == "" {
		c.problems.Errorf(c.doc, at(c.internal, ""), "%s has no fixed MAC address, so that it gets a new one, and another lease, at each boot; add copy-mac-from or mac-address", placement.Bridge)
	}
	for i, from := range map[int]string{c.internal: iface.CopyMACFrom, c.bridge: bridge.CopyMACFrom} {
		if from != "" && !slices.ContainsFunc(c.doc.Interfaces, func(o nmstate.Interface) bool { return o.Name == from }) {
			c.problems.Warnf(c.doc, at(i, ".copy-mac-from"), "%s is not in interfaces; it must exist on the host already", from)
		}
	}
	if !c.hasDefaultRoute(iface) {
		c.problems.Errorf(c.doc, "routes", "there is no default route through %s; add one to routes.config, or use DHCP", placement.Bridge)
	}
}

func (c *check) hasDefaultRoute(iface *nmstate.Interface) bool {
	learns := func(auto bool, gateway *bool) bool { return auto && (gateway == nil || *gateway) }
	if iface.IPv4 != nil && learns(iface.IPv4.Automatic(), iface.IPv4.AutoGateway) || iface.IPv6 != nil && learns(iface.IPv6.Automatic(), iface.IPv6.AutoGateway) {
		return true
	}
	if c.doc.Routes == nil {
		return false
	}
	return slices.ContainsFunc(c.doc.Routes.Config, func(r nmstate.Route) bool {
		prefix, err := netip.ParsePrefix(r.Destination)
		// A route of another table is only used by packets of a rule.
		main := r.TableID == nil || *r.TableID == 0 || *r.TableID == mainTable
		return err == nil && prefix.Bits() == 0 && r.NextHopInterface == placement.Bridge && main && !r.Absent()
	})
}

// dns requires a reachable name server.
func (c *check) dns() {
	v4, v6, automatic := false, false, false
	for i := range c.doc.Interfaces {
		if iface := &c.doc.Interfaces[i]; iface.Up() {
			v4, v6 = v4 || iface.IPv4.On(), v6 || iface.IPv6.On()
			automatic = automatic || iface.IPv4.Automatic() || iface.IPv6.Automatic()
		}
	}
	var servers []string
	if c.doc.DNS != nil && c.doc.DNS.Config != nil {
		servers = c.doc.DNS.Config.Server
	}
	if len(servers) == 0 && !automatic && (v4 || v6) {
		c.problems.Warnf(c.doc, "dns-resolver", "no address comes by DHCP and there are no name servers, so that the host cannot find the cluster by its name")
	}
	reachable := slices.ContainsFunc(servers, func(server string) bool {
		addr, err := netip.ParseAddr(server)
		return err != nil || addr.Is4() && v4 || addr.Is6() && v6
	})
	if len(servers) > 0 && !reachable {
		c.problems.Errorf(c.doc, "dns-resolver.config.server", "none of %v is of a family that an interface has addresses of", servers)
	}
}
