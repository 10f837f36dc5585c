package nmstate

import (
	"fmt"
	"strings"
)

// Role is the role of an interface in a reference.
type Role string

// The roles of references.
const (
	RolePort       Role = "port"          // of a bond, a bridge or a VRF
	RoleController Role = "controller"    // of a port
	RoleParent     Role = "parent"        // of a VLAN, VXLAN, MACVLAN, MACVTAP, IPVLAN, MACsec or InfiniBand child
	RolePrimary    Role = "primary"       // port of a bond
	RoleHSRPort    Role = "hsr port"      // of an HSR or PRP interface
	RolePeer       Role = "peer"          // of a veth pair or of a patch
	RoleCopyMAC    Role = "copy-mac-from" // of a bond, a bridge or its internal port
	RoleRoute      Role = "route"         // next-hop interface
	RoleRule       Role = "rule"          // incoming interface
	RoleDNS        Role = "dns"           // zone of a link-local name server
	RoleMapping    Role = "mapping"       // bridge of a physical network of OVN
)

// Reference is a reference to an interface in a document.
type Reference struct {
	Role Role
	// Path is the path of the name, relative to the Document or the Interface.
	Path string
	Name string
	set  func(string)
}

// references collects references. This file lists all keys that refer to interfaces.
type references []Reference

// add adds a reference, unless the name is empty.
func (r *references) add(role Role, path string, name *string) {
	if *name != "" {
		*r = append(*r, Reference{Role: role, Path: path, Name: *name, set: func(to string) { *name = to }})
	}
}

func (r *references) list(role Role, path string, names []string) {
	for n := range names {
		r.add(role, fmt.Sprintf("%s[%d]", path, n), &names[n])
	}
}

// References returns every reference of the document to an interface, those of its interfaces first.
func (d *Document) References() []Reference {
	var out references
	for n := range d.Interfaces {
		for _, r := range d.Interfaces[n].References() {
			r.Path = fmt.Sprintf("interfaces[%d].%s", n, r.Path)
			out = append(out, r)
		}
	}
	if d.Routes != nil {
		for n := range d.Routes.Config {
			out.add(RoleRoute, fmt.Sprintf("routes.config[%d].next-hop-interface", n), &d.Routes.Config[n].NextHopInterface)
		}
	}
	if d.RouteRules != nil {
		for n := range d.RouteRules.Config {
			out.add(RoleRule, fmt.Sprintf("route-rules.config[%d].iif", n), &d.RouteRules.Config[n].IIF)
		}
	}
	if d.DNS != nil && d.DNS.Config != nil {
		out.zones(d.DNS.Config.Server)
	}
	if d.OVN != nil {
		for n := range d.OVN.BridgeMappings {
			out.add(RoleMapping, fmt.Sprintf("ovn.bridge-mappings[%d].bridge", n), &d.OVN.BridgeMappings[n].Bridge)
		}
	}
	return out
}

// zones adds the interfaces of link-local name servers, as in fe80::1%eth0.
func (r *references) zones(servers []string) {
	for n := range servers {
		if addr, zone, ok := strings.Cut(servers[n], "%"); ok && zone != "" {
			*r = append(*r, Reference{Role: RoleDNS, Path: fmt.Sprintf("dns-resolver.config.server[%d]", n), Name: zone,
				set: func(to string) { servers[n] = addr + "%" + to }})
		}
	}
}

// References returns every reference of one interface to another.
func (i *Interface) References() []Reference {
	var out references
	out.add(RoleCopyMAC, "copy-mac-from", &i.CopyMACFrom)
	if i.Controller != nil {
		out.add(RoleController, "controller", i.Controller)
	}
	if i.Veth != nil {
		out.add(RolePeer, "veth.peer", &i.Veth.Peer)
	}
	if i.Patch != nil {
		out.add(RolePeer, "patch.peer", &i.Patch.Peer)
	}
	out.ports(i)
	out.parents(i)
	if i.HSR != nil {
		out.add(RoleHSRPort, "hsr.port1", &i.HSR.Port1)
		out.add(RoleHSRPort, "hsr.port2", &i.HSR.Port2)
	}
	return out
}

func (r *references) ports(i *Interface) {
	if b := i.Bond; b != nil {
		r.list(RolePort, "link-aggregation.port", b.Port)
		for n := range b.PortsConfig {
			r.add(RolePort, fmt.Sprintf("link-aggregation.ports-config[%d].name", n), &b.PortsConfig[n].Name)
		}
		if b.Options != nil {
			r.add(RolePrimary, "link-aggregation.options.primary", &b.Options.Primary)
		}
	}
	if i.LinuxBridge != nil {
		for n := range i.LinuxBridge.Port {
			r.add(RolePort, fmt.Sprintf("bridge.port[%d].name", n), &i.LinuxBridge.Port[n].Name)
		}
	}
	if i.OVSBridge != nil {
		r.ovsPorts(i.OVSBridge)
	}
	if i.VRF != nil {
		r.list(RolePort, "vrf.port", i.VRF.Port)
	}
}

// ovsPorts adds the interfaces of a bridge's ports. A bond port has a separate name.
func (r *references) ovsPorts(b *OVSBridge) {
	for n := range b.Port {
		p := &b.Port[n]
		if p.Bond == nil {
			r.add(RolePort, fmt.Sprintf("bridge.port[%d].name", n), &p.Name)
			continue
		}
		for m := range p.Bond.Port {
			r.add(RolePort, fmt.Sprintf("bridge.port[%d].link-aggregation.port[%d].name", n, m), &p.Bond.Port[m].Name)
		}
	}
}

func (r *references) parents(i *Interface) {
	if i.VLAN != nil {
		r.add(RoleParent, "vlan.base-iface", &i.VLAN.BaseIface)
	}
	if i.VXLAN != nil {
		r.add(RoleParent, "vxlan.base-iface", &i.VXLAN.BaseIface)
	}
	if i.MACVLAN != nil {
		r.add(RoleParent, "mac-vlan.base-iface", &i.MACVLAN.BaseIface)
	}
	if i.MACVTAP != nil {
		r.add(RoleParent, "mac-vtap.base-iface", &i.MACVTAP.BaseIface)
	}
	if i.IPVLAN != nil {
		r.add(RoleParent, "ipvlan.base-iface", &i.IPVLAN.BaseIface)
	}
	if i.MACsec != nil {
		r.add(RoleParent, "macsec.base-iface", &i.MACsec.BaseIface)
	}
	if i.InfiniBand != nil {
		r.add(RoleParent, "infiniband.base-iface", &i.InfiniBand.BaseIface)
	}
}

// Parent returns the parent interface; empty for none.
func (i *Interface) Parent() string {
	for _, r := range i.References() {
		if r.Role == RoleParent {
			return r.Name
		}
	}
	return ""
}

// Members returns the ports of this interface in the order of the document, without duplicates from port and ports-config.
func (i *Interface) Members() []string {
	if i.Bond != nil {
		names, _ := i.Bond.Ports()
		return names
	}
	var out []string
	for _, r := range i.References() {
		if r.Role == RolePort {
			out = append(out, r.Name)
		}
	}
	return out
}

// Renamed returns a copy of the document with new names in all references. It does not rename the interfaces themselves.
func (d *Document) Renamed(names map[string]string) *Document {
	out := clone(d)
	for _, r := range out.References() {
		if to, ok := names[r.Name]; ok {
			r.set(to)
		}
	}
	return out
}
