package netlinkovs

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// create creates a link that is down and has no addresses. Other steps configure it.
func (b *Backend) create(l *livestate.Link) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = l.Name
	if l.Parent != "" {
		parent, err := b.Netlink.LinkByName(l.Parent)
		if err != nil {
			return err
		}
		attrs.ParentIndex = parent.Attrs().Index
	}
	link, err := kernelLink(l, attrs)
	if err != nil {
		return err
	}
	if bond, ok := link.(*netlink.Bond); ok && l.Bond.Options["primary"] != "" {
		// The kernel keeps the name until the port is added.
		primary, err := b.Netlink.LinkByName(l.Bond.Options["primary"])
		if err != nil {
			return err
		}
		bond.Primary = primary.Attrs().Index
	}
	return b.Netlink.LinkAdd(link)
}

func kernelLink(l *livestate.Link, attrs netlink.LinkAttrs) (netlink.Link, error) {
	switch {
	case l.Peer != "":
		return &netlink.Veth{LinkAttrs: attrs, PeerName: l.Peer}, nil
	case l.Bond != nil:
		return kernelBond(l.Bond, attrs)
	case l.VLAN != nil:
		vlan := &netlink.Vlan{LinkAttrs: attrs, VlanId: l.VLAN.ID, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
		if l.VLAN.Protocol == "802.1ad" {
			vlan.VlanProtocol = netlink.VLAN_PROTOCOL_8021AD
		}
		return vlan, nil
	case l.VXLAN != nil:
		vxlan := &netlink.Vxlan{LinkAttrs: attrs, VxlanId: l.VXLAN.ID, Port: l.VXLAN.Port, VtepDevIndex: attrs.ParentIndex, Learning: true}
		if l.VXLAN.Remote != "" {
			vxlan.Group = net.ParseIP(l.VXLAN.Remote)
		}
		if vxlan.Port == 0 {
			vxlan.Port = 4789 // IANA's, and NMState's; the kernel's own is an older one
		}
		return vxlan, nil
	case l.VRF != nil:
		return &netlink.Vrf{LinkAttrs: attrs, Table: l.VRF.Table}, nil
	case l.MACVLAN != "":
		mode, ok := map[string]netlink.MacvlanMode{
			"vepa": netlink.MACVLAN_MODE_VEPA, "bridge": netlink.MACVLAN_MODE_BRIDGE, "private": netlink.MACVLAN_MODE_PRIVATE,
			"passthru": netlink.MACVLAN_MODE_PASSTHRU, "source": netlink.MACVLAN_MODE_SOURCE,
		}[l.MACVLAN]
		if !ok {
			return nil, fmt.Errorf("unknown mode %q of a macvlan", l.MACVLAN)
		}
		return &netlink.Macvlan{LinkAttrs: attrs, Mode: mode}, nil
	case l.Bridge != nil:
		return &netlink.Bridge{LinkAttrs: attrs}, nil
	case l.Kind == "dummy":
		return &netlink.Dummy{LinkAttrs: attrs}, nil
	}
	return nil, fmt.Errorf("a link of type %s cannot be created", l.Kind)
}

func kernelBond(l *livestate.Bond, attrs netlink.LinkAttrs) (netlink.Link, error) {
	bond := netlink.NewLinkBond(attrs)
	bond.Mode = netlink.StringToBondMode(l.Mode)
	for key, into := range map[string]*int{
		"miimon": &bond.Miimon, "updelay": &bond.UpDelay, "downdelay": &bond.DownDelay, "min_links": &bond.MinLinks,
		"arp_interval": &bond.ArpInterval,
	} {
		if text := l.Options[key]; text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, fmt.Errorf("bond option %s: %w", key, err)
			}
			*into = n
		}
	}
	for text := range strings.SplitSeq(l.Options["arp_ip_target"], ",") {
		if ip := net.ParseIP(strings.TrimSpace(text)); ip != nil {
			bond.ArpIpTargets = append(bond.ArpIpTargets, ip)
		}
	}
	if word := l.Options["primary_reselect"]; word != "" {
		bond.PrimaryReselect = netlink.StringToBondPrimaryReselectMap[word]
	}
	if word := l.Options["fail_over_mac"]; word != "" {
		bond.FailOverMac = netlink.StringToBondFailOverMacMap[word]
	}
	if word := l.Options["lacp_rate"]; word != "" {
		bond.LacpRate = netlink.StringToBondLacpRate(word)
	}
	if word := l.Options["xmit_hash_policy"]; word != "" {
		bond.XmitHashPolicy = netlink.StringToBondXmitHashPolicy(word)
	}
	return bond, nil
}

func kernelAddress(a livestate.Address) *netlink.Addr {
	return &netlink.Addr{IPNet: netaddr.IPNet(a.Prefix), ValidLft: a.Valid, PreferedLft: a.Preferred}
}

func (b *Backend) route(s step) error {
	r := s.route
	out := &netlink.Route{
		Dst: netaddr.IPNet(r.Destination), Priority: r.Metric, Table: r.Table, Protocol: protocolNumber(r.Protocol), Family: netlink.FAMILY_V4,
	}
	if r.Destination.Addr().Is6() {
		out.Family = netlink.FAMILY_V6
	}
	if r.Via.IsValid() {
		out.Gw = r.Via.AsSlice()
	}
	if r.Source.IsValid() {
		out.Src = r.Source.AsSlice()
	}
	switch r.Type {
	case "blackhole":
		out.Type = unix.RTN_BLACKHOLE
	case "unreachable":
		out.Type = unix.RTN_UNREACHABLE
	case "prohibit":
		out.Type = unix.RTN_PROHIBIT
	default:
		link, err := b.Netlink.LinkByName(r.Interface)
		if err != nil {
			return err
		}
		out.LinkIndex = link.Attrs().Index
		if !r.Via.IsValid() {
			out.Scope = netlink.SCOPE_LINK
		}
	}
	if s.action == removeRoute {
		out.Protocol, out.Scope = 0, 0
		return b.Netlink.RouteDel(out)
	}
	return b.Netlink.RouteReplace(out)
}

func protocolNumber(name string) netlink.RouteProtocol {
	switch name {
	case "kernel":
		return unix.RTPROT_KERNEL
	case "boot":
		return unix.RTPROT_BOOT
	case "dhcp":
		return unix.RTPROT_DHCP
	case "ra":
		return unix.RTPROT_RA
	}
	if n, err := strconv.Atoi(name); err == nil {
		return netlink.RouteProtocol(n)
	}
	return unix.RTPROT_STATIC
}

func (b *Backend) rule(s step) error {
	r := s.rule
	out := netlink.NewRule()
	out.Family, out.Priority, out.Table = netlink.FAMILY_V4, r.Priority, r.Table
	if r.Family == 6 {
		out.Family = netlink.FAMILY_V6
	}
	out.Src, out.Dst, out.IifName, out.SuppressPrefixlen = netaddr.IPNet(r.From), netaddr.IPNet(r.To), r.Interface, r.SuppressPrefixLength
	if r.Mark != 0 || r.Mask != 0 {
		out.Mark, out.Mask = r.Mark, &r.Mask
	}
	switch r.Action {
	case "blackhole":
		out.Type = unix.FR_ACT_BLACKHOLE
	case "unreachable":
		out.Type = unix.FR_ACT_UNREACHABLE
	case "prohibit":
		out.Type = unix.FR_ACT_PROHIBIT
	}
	if s.action == removeRule {
		return b.Netlink.RuleDel(out)
	}
	return b.Netlink.RuleAdd(out)
}
