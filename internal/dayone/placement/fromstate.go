package placement

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// FromState returns the document that would make a host's network what it is: a start for people who write one for a
// host that they have configured by hand. Left out are loopback, links that the pods' network or a container made, and
// addresses and routes that came by themselves.
func FromState(s livestate.State) *nmstate.Document {
	doc := &nmstate.Document{}
	for i := range s.Links {
		if link := &s.Links[i]; describable(link) {
			doc.Interfaces = append(doc.Interfaces, interfaceOf(link))
		}
	}
	for _, bridge := range s.OVS {
		if !foreign(bridge.Name) {
			doc.Interfaces = append(doc.Interfaces, ovsBridgeOf(bridge))
		}
	}
	slices.SortStableFunc(doc.Interfaces, func(a, b nmstate.Interface) int { return strings.Compare(a.Name, b.Name) })
	if routes := routesOf(s, doc); len(routes) > 0 {
		doc.Routes = &nmstate.Routes{Config: routes}
	}
	if len(s.DNS.Servers) > 0 && !automatic(doc) {
		doc.DNS = &nmstate.DNS{Config: &nmstate.Resolver{Server: s.DNS.Servers, Search: s.DNS.Search, Options: s.DNS.Options}}
	}
	return doc
}

func describable(l *livestate.Link) bool {
	switch nmstate.InterfaceType(l.Kind) {
	case nmstate.TypeEthernet, nmstate.TypeBond, nmstate.TypeVLAN, nmstate.TypeVXLAN, nmstate.TypeLinuxBridge, nmstate.TypeOVSInterface, nmstate.TypeDummy, nmstate.TypeVRF, nmstate.TypeVeth:
		return l.Name != "lo" && !foreign(l.Name)
	}
	return false
}

// foreign reports whether an interface is one of the pods' network.
func foreign(name string) bool {
	for _, prefix := range []string{"cni", "flannel", "ovn-k8s-", "genev_sys_", "vxlan_sys_", "ovs-system", "br-int", "docker", "k8s-", "kube-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func interfaceOf(l *livestate.Link) nmstate.Interface {
	iface := nmstate.Interface{Name: l.Name, Type: nmstate.InterfaceType(l.Kind), State: nmstate.StateUp}
	if !l.Up {
		iface.State = nmstate.StateDown
	}
	if l.MTU > 0 && l.MTU != 1500 {
		mtu := uint64(l.MTU)
		iface.MTU = &mtu
	}
	if l.Controller == "" || iface.Type == nmstate.TypeOVSInterface {
		iface.IPv4, iface.IPv6 = &nmstate.IPv4{Auto: autoOf(l, l.IPv4, true)}, &nmstate.IPv6{Auto: autoOf(l, l.IPv6, false)}
		if nmstate.Is(iface.IPv6.Enabled) && nmstate.Is(iface.IPv6.DHCP) {
			iface.IPv6.Autoconf = yes()
		}
	}
	switch {
	case l.Bond != nil:
		iface.Bond = &nmstate.Bond{Mode: l.Bond.Mode, Port: l.Bond.Ports}
	case l.VLAN != nil && l.VLAN.ID >= 0 && l.VLAN.ID < 4096:
		iface.VLAN = &nmstate.VLAN{BaseIface: l.Parent, ID: uint16(l.VLAN.ID)}
	case l.Bridge != nil:
		iface.LinuxBridge = &nmstate.LinuxBridge{Options: &nmstate.LinuxBridgeOptions{STP: &nmstate.STP{Enabled: &l.Bridge.STP}}}
		for _, port := range l.Bridge.Ports {
			iface.LinuxBridge.Port = append(iface.LinuxBridge.Port, nmstate.LinuxBridgePort{Name: port})
		}
	case l.VRF != nil:
		iface.VRF = &nmstate.VRF{Port: l.VRF.Ports, RouteTableID: &l.VRF.Table}
	case iface.Type == nmstate.TypeVeth && l.Peer != "":
		iface.Veth = &nmstate.Veth{Peer: l.Peer}
	}
	return iface
}

func yes() *bool { b := true; return &b }

func no() *bool { b := false; return &b }

// autoOf returns how a link gets the addresses of one family. A lease that nobody knows the origin of is one by DHCP.
func autoOf(l *livestate.Link, m livestate.Method, v4 bool) nmstate.Auto {
	auto := nmstate.Auto{Enabled: no()}
	dhcp := m.DHCP || m.Autoconf
	for _, a := range l.Addresses {
		switch addr := a.Prefix.Addr(); {
		case addr.Is4() != v4:
		case a.Dynamic:
			dhcp = true
		case !addr.IsLinkLocalUnicast():
			auto.Address = append(auto.Address, nmstate.Address{IP: addr, PrefixLength: uint8(a.Prefix.Bits())})
		}
	}
	if dhcp {
		auto.DHCP = yes()
	}
	if dhcp || len(auto.Address) > 0 {
		auto.Enabled = yes()
	}
	return auto
}

func ovsBridgeOf(b livestate.Bridge) nmstate.Interface {
	bridge := &nmstate.OVSBridge{}
	if b.Datapath != "" && b.Datapath != "system" {
		bridge.Options = &nmstate.OVSBridgeOptions{Datapath: b.Datapath}
	}
	for _, port := range b.Ports {
		if strings.HasPrefix(port.Name, "patch-") {
			continue // OVN's
		}
		out := nmstate.OVSPort{Name: port.Name}
		if len(port.Interfaces) > 1 {
			out.Bond = &nmstate.OVSBond{Mode: port.BondMode}
			for _, member := range port.Interfaces {
				out.Bond.Port = append(out.Bond.Port, nmstate.OVSBondPort{Name: member.Name})
			}
		}
		bridge.Port = append(bridge.Port, out)
	}
	return nmstate.Interface{Name: b.Name, Type: nmstate.TypeOVSBridge, State: nmstate.StateUp, OVSBridge: bridge}
}

// routesOf returns the routes that somebody wrote, on interfaces of the document.
func routesOf(s livestate.State, doc *nmstate.Document) []nmstate.Route {
	var all []nmstate.Route
	for _, r := range s.Routes {
		if r.Protocol != "static" && r.Protocol != "boot" && r.Protocol != strconv.Itoa(4) {
			continue
		}
		if !slices.ContainsFunc(doc.Interfaces, func(i nmstate.Interface) bool { return i.Name == r.Interface }) {
			continue
		}
		out := nmstate.Route{Destination: r.Destination.String(), NextHopInterface: r.Interface}
		if r.Via.IsValid() {
			out.NextHopAddress = r.Via.String()
		}
		if r.Metric > 0 {
			metric := int64(r.Metric)
			out.Metric = &metric
		}
		if r.Table != 0 && r.Table != 254 {
			table := uint32(r.Table)
			out.TableID = &table
		}
		if r.Source != (netip.Addr{}) {
			out.Source = r.Source.String()
		}
		all = append(all, out)
	}
	return all
}

// automatic reports whether an address comes by itself, and name servers with it.
func automatic(doc *nmstate.Document) bool {
	return slices.ContainsFunc(doc.Interfaces, func(i nmstate.Interface) bool { return i.IPv4.Automatic() || i.IPv6.Automatic() })
}
