// Package hostdocument converts a host's network to a document. It is pure.
package hostdocument

import (
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// FromState returns the document of a host's current network, as a starting point for a manually configured host. It omits loopback, links of the pod network
// and of containers, and dynamic addresses and routes.
func FromState(s livestate.State) *nmstate.Document {
	doc := &nmstate.Document{}
	for i := range s.Links {
		link := s.Links[i]
		if internal(s, link.Name) {
			link.Kind = string(nmstate.TypeOVSInterface) // the kernel reports that of a userspace bridge as a tap device
		}
		if describable(&link) {
			doc.Interfaces = append(doc.Interfaces, interfaceOf(&link))
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
	if rules := rulesOf(s, doc); len(rules) > 0 {
		doc.RouteRules = &nmstate.RouteRules{Config: rules}
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

// foreign reports whether an interface belongs to the pod network.
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
		iface.Bond = l.Bond.Desired()
	case l.VLAN != nil && l.VLAN.ID >= 0 && l.VLAN.ID < 4096:
		iface.VLAN = &nmstate.VLAN{BaseIface: l.Parent, ID: uint16(l.VLAN.ID)}
		if l.VLAN.Protocol == "802.1ad" {
			iface.VLAN.Protocol = "802.1ad"
		}
	case l.VXLAN != nil && l.VXLAN.ID >= 0 && l.VXLAN.ID < 1<<24:
		iface.VXLAN = vxlanOf(l)
	case l.Bridge != nil:
		iface.LinuxBridge = &nmstate.LinuxBridge{Options: &nmstate.LinuxBridgeOptions{STP: &nmstate.STP{Enabled: &l.Bridge.STP}}}
		for _, port := range l.Bridge.Ports {
			iface.LinuxBridge.Port = append(iface.LinuxBridge.Port, nmstate.LinuxBridgePort{Name: port})
		}
	case l.VRF != nil:
		iface.VRF = &nmstate.VRF{Port: l.VRF.Ports, RouteTableID: &l.VRF.Table}
	case iface.Type == nmstate.TypeVeth && l.Peer != "":
		iface.Veth = &nmstate.Veth{Peer: l.Peer}
	case iface.Type == nmstate.TypeVeth:
		iface.Type = nmstate.TypeEthernet // the other end is not part of this host
	}
	if iface.Type == nmstate.TypeLinuxBridge || iface.Type == nmstate.TypeOVSInterface {
		iface.MACAddress = strings.ToUpper(l.MAC) // a new bridge would get another MAC address and lease
	}
	return iface
}

func vxlanOf(l *livestate.Link) *nmstate.VXLAN {
	out := &nmstate.VXLAN{ID: uint32(l.VXLAN.ID), BaseIface: l.Parent, Remote: l.VXLAN.Remote}
	if port := l.VXLAN.Port; port > 0 && port < 1<<16 {
		number := uint16(port)
		out.DestinationPort = &number
	}
	return out
}

func yes() *bool { b := true; return &b }

func no() *bool { b := false; return &b }

// autoOf returns the automatic configuration of a family. Leases of unknown origin count as DHCP.
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

// automatic reports whether an interface is configured automatically, including name servers.
func automatic(doc *nmstate.Document) bool {
	return slices.ContainsFunc(doc.Interfaces, func(i nmstate.Interface) bool { return i.IPv4.Automatic() || i.IPv6.Automatic() })
}
