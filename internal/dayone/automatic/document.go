package automatic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Metrics of the default routes of br-ex and br-ex1. They are lower than those of all other interfaces.
const (
	metric      = 48
	extraMetric = 49
)

// Configuration is a generated document with its uplink.
type Configuration struct {
	Document *nmstate.Document
	// Uplink is the interface below br-ex, which is stored for the next boot.
	Uplink string
	Why    string
	// Warnings are messages about possible problems.
	Warnings []string
}

// Generate generates the document of a host without one.
func Generate(live livestate.State, h Hints) (Configuration, error) {
	uplink, why, err := Uplink(live, h)
	if err != nil {
		return Configuration{}, err
	}
	m := Configuration{Document: &nmstate.Document{}, Uplink: uplink, Why: why}
	if err := m.bridge(live, Bridge, uplink, metric); err != nil {
		return Configuration{}, err
	}
	if h.ExtraBridge != "" {
		if h.ExtraBridge == uplink {
			return Configuration{}, fmt.Errorf("/%s names %s, which is under %s already", ExtraBridgeFile, uplink, Bridge)
		}
		if err := m.bridge(live, ExtraBridge, h.ExtraBridge, extraMetric); err != nil {
			return Configuration{}, err
		}
	}
	return m, nil
}

// bridge adds one bridge over one interface.
func (m *Configuration) bridge(live livestate.State, name, uplink string, metric uint32) error {
	card, ok := live.Link(uplink)
	if !ok {
		return fmt.Errorf("this host has no interface %s for %s", uplink, name)
	}
	// After a reboot, the card may have the addresses although the bridge is in the database.
	holder := card
	if made, ok := live.Link(name); ok && len(global(made)) > 0 && len(global(card)) == 0 {
		holder = made
	}
	if len(global(holder)) == 0 {
		return fmt.Errorf("%s has no address that %s could have", uplink, name)
	}
	six := slices.ContainsFunc(global(holder), func(a livestate.Address) bool { return a.Prefix.Addr().Is6() })
	if six && card.MTU < 1280 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%s has an MTU of %d, and IPv6 needs 1280", uplink, card.MTU))
	}
	mtu := uint64(card.MTU)
	bridge := nmstate.Interface{
		Name: name, Type: nmstate.TypeOVSBridge, State: nmstate.StateUp,
		// OVN reads the uplink port from this key.
		OVSDB: &nmstate.OVSPairs{ExternalIDs: nmstate.Pairs{"bridge-uplink": &card.Name}},
		OVSBridge: &nmstate.OVSBridge{
			AllowExtraPatchPorts: of(true), Port: []nmstate.OVSPort{{Name: uplink}, {Name: name}},
		},
	}
	port := nmstate.Interface{
		Name: name, Type: nmstate.TypeOVSInterface, State: nmstate.StateUp, MTU: &mtu, MACAddress: strings.ToUpper(card.MAC),
		IPv4: ipv4(holder, metric), IPv6: ipv6(holder, metric), WaitIP: waitIP(holder),
	}
	m.Document.Interfaces = append(m.Document.Interfaces, cardOf(card, mtu), bridge, port)
	m.routes(live, holder, name, metric)
	m.rules(live, holder, name)
	m.dns(live, holder)
	return nil
}

// cardOf returns the interface below the bridge, without addresses and otherwise unchanged.
func cardOf(l *livestate.Link, mtu uint64) nmstate.Interface {
	i := nmstate.Interface{
		Name: l.Name, Type: nmstate.InterfaceType(l.Kind), State: nmstate.StateUp, MTU: &mtu,
		IPv4: &nmstate.IPv4{Auto: nmstate.Auto{Enabled: of(false)}}, IPv6: &nmstate.IPv6{Auto: nmstate.Auto{Enabled: of(false)}},
	}
	switch {
	case l.Kind == string(nmstate.TypeVeth):
		i.Type = nmstate.TypeEthernet // the other end is not configured
	case l.Bond != nil:
		i.Bond = l.Bond.Desired()
	case l.VLAN != nil:
		i.VLAN = &nmstate.VLAN{BaseIface: l.Parent, ID: uint16(l.VLAN.ID), Protocol: nmstate.VLANProtocol(l.VLAN.Protocol)}
	}
	// A bond that uses the MAC address of its active port must not have a fixed one.
	if !(l.Bond != nil && l.Bond.Mode == "active-backup" && (l.Bond.Options["fail_over_mac"] == "active" || l.Bond.Options["fail_over_mac"] == "follow")) {
		i.MACAddress = strings.ToUpper(l.MAC)
	}
	return i
}

func ipv4(l *livestate.Link, metric uint32) *nmstate.IPv4 {
	ip := &nmstate.IPv4{Auto: nmstate.Auto{Enabled: of(false)}}
	for _, a := range global(l) {
		if a.Prefix.Addr().Is4() {
			ip.Enabled = of(true)
			if !a.Dynamic {
				ip.Address = append(ip.Address, nmstate.Address{IP: a.Prefix.Addr(), PrefixLength: uint8(a.Prefix.Bits())})
			}
		}
	}
	if l.IPv4.DHCP {
		ip.Enabled, ip.DHCP, ip.AutoRouteMetric, ip.DHCPClientID = of(true), of(true), &metric, l.IPv4.ClientID
		if l.IPv4.IgnoreDNS {
			ip.AutoDNS = of(false)
		}
	}
	return ip
}

func ipv6(l *livestate.Link, metric uint32) *nmstate.IPv6 {
	ip := &nmstate.IPv6{Auto: nmstate.Auto{Enabled: of(false)}}
	for _, a := range global(l) {
		if a.Prefix.Addr().Is6() {
			ip.Enabled = of(true)
			if !a.Dynamic {
				ip.Address = append(ip.Address, nmstate.Address{IP: a.Prefix.Addr(), PrefixLength: uint8(a.Prefix.Bits())})
			}
		}
	}
	if l.IPv6.Autoconf || l.IPv6.DHCP {
		ip.Enabled, ip.DHCP, ip.Autoconf, ip.AutoRouteMetric, ip.DHCPDUID = of(true), of(l.IPv6.DHCP), of(true), &metric, l.IPv6.DUID
		if l.IPv6.IgnoreDNS {
			ip.AutoDNS = of(false)
		}
	}
	if *ip.Enabled {
		ip.AddrGenMode = l.IPv6.AddrGenMode
	}
	return ip
}

// waitIP returns the families that have an address now, which are then required.
func waitIP(l *livestate.Link) nmstate.WaitIP {
	var four, six bool
	for _, a := range global(l) {
		four, six = four || a.Prefix.Addr().Is4(), six || a.Prefix.Addr().Is6()
	}
	switch {
	case four && six:
		return "ipv4+ipv6"
	case six:
		return "ipv6"
	}
	return "ipv4"
}

// routes moves static routes. Dynamic routes are not moved, since they are configured again automatically.
func (m *Configuration) routes(live livestate.State, holder *livestate.Link, bridge string, metric uint32) {
	for _, r := range live.Routes {
		if r.Interface != holder.Name || slices.Contains([]string{"kernel", "dhcp", "ra"}, r.Protocol) {
			continue
		}
		// Another DHCP client may not mark the routes of its lease.
		if r.Default() && (r.Destination.Addr().Is4() && holder.IPv4.DHCP || r.Destination.Addr().Is6() && holder.IPv6.Autoconf) {
			continue
		}
		out := nmstate.Route{Destination: r.Destination.String(), NextHopInterface: bridge, RouteType: nmstate.Special(r.Type)}
		if r.Via.IsValid() {
			out.NextHopAddress = r.Via.String()
		}
		if r.Source.IsValid() {
			out.Source = r.Source.String()
		}
		if number := int64(r.Metric); r.Default() {
			number = int64(metric)
			out.Metric = &number
		} else if number != 0 {
			out.Metric = &number
		}
		if table := uint32(r.Table); table != livestate.MainTable {
			out.TableID = &table
		}
		if m.Document.Routes == nil {
			m.Document.Routes = &nmstate.Routes{}
		}
		m.Document.Routes.Config = append(m.Document.Routes.Config, out)
	}
}

// dns keeps statically configured servers.
func (m *Configuration) dns(live livestate.State, holder *livestate.Link) {
	leased := holder.IPv4.DHCP && !holder.IPv4.IgnoreDNS || holder.IPv6.Autoconf && !holder.IPv6.IgnoreDNS
	if leased || m.Document.DNS != nil || len(live.DNS.Servers) == 0 {
		return
	}
	m.Document.DNS = &nmstate.DNS{Config: &nmstate.Resolver{Server: live.DNS.Servers, Search: live.DNS.Search, Options: live.DNS.Options}}
}

func global(l *livestate.Link) []livestate.Address {
	return slices.DeleteFunc(slices.Clone(l.Addresses), func(a livestate.Address) bool { return a.Prefix.Addr().Is6() && a.Prefix.Addr().IsLinkLocalUnicast() })
}

func of(b bool) *bool { return &b }
