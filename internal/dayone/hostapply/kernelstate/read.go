// Package kernelstate reads the network of the current network namespace from the kernel. It cannot detect the origin of addresses, which only daemons have:
// a dynamic IPv4 address is reported as DHCP, and a dynamic IPv6 address as autoconf, unless it is a /128.
package kernelstate

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Reader reads the state. The zero value is not usable.
type Reader struct {
	Netlink *netlink.Handle
	// ResolvConf is the path of resolv.conf, which may be missing.
	ResolvConf string
}

// attempts is the maximum number of reads, since the network may change during a read.
const attempts = 10

// Read returns the state without Open vSwitch.
func (r Reader) Read() (livestate.State, error) {
	for range attempts - 1 {
		if s, err := r.once(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return s, err
		}
	}
	return r.once()
}

func (r Reader) once() (livestate.State, error) {
	links, err := r.Netlink.LinkList()
	if err != nil {
		return livestate.State{}, fmt.Errorf("list links: %w", err)
	}
	names := make(map[int]string, len(links))
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	var s livestate.State
	for _, l := range links {
		link, err := r.link(l, names)
		if err != nil {
			return s, err
		}
		s.Links = append(s.Links, link)
	}
	ports(&s)
	if s.Routes, err = r.routes(names); err != nil {
		return s, err
	}
	if s.Rules, err = rules(); err != nil {
		return s, err
	}
	if s.DNS, err = readResolvConf(r.ResolvConf); err != nil {
		return s, err
	}
	s.Hostname, err = os.Hostname()
	return s, err
}

// ports sets the ports of bonds, bridges and VRFs.
func ports(s *livestate.State) {
	for _, l := range s.Links {
		controller, ok := s.Link(l.Controller)
		if !ok || l.Controller == "" {
			continue
		}
		switch {
		case controller.Bond != nil:
			controller.Bond.Ports = append(controller.Bond.Ports, l.Name)
		case controller.Bridge != nil:
			controller.Bridge.Ports = append(controller.Bridge.Ports, l.Name)
		case controller.VRF != nil:
			controller.VRF.Ports = append(controller.VRF.Ports, l.Name)
		}
	}
}

func (r Reader) link(l netlink.Link, names map[int]string) (livestate.Link, error) {
	a := l.Attrs()
	out := livestate.Link{
		Name: a.Name, AltNames: a.AltNames, Kind: kind(l), MAC: a.HardwareAddr.String(), MTU: a.MTU,
		Up: a.RawFlags&unix.IFF_UP != 0, Carrier: a.RawFlags&unix.IFF_LOWER_UP != 0,
		Controller: names[a.MasterIndex], Driver: driver(a.Name),
		PCIAddress: pciAddress("/sys/class/net", a.Name),
	}
	// A permanent address that is all zeroes is none.
	if strings.Trim(a.PermHWAddr.String(), "0:") != "" {
		out.PermanentMAC = a.PermHWAddr.String()
	}
	detail(&out, l, names)
	addresses, err := r.Netlink.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return out, fmt.Errorf("list addresses of %s: %w", a.Name, err)
	}
	for _, addr := range addresses {
		out.Addresses = append(out.Addresses, address(addr))
	}
	methods(&out)
	return out, nil
}

// detail sets the fields of a kind of link.
func detail(out *livestate.Link, l netlink.Link, names map[int]string) {
	parent := ""
	if l.Attrs().NetNsID < 0 { // else the index is one of another namespace
		parent = names[l.Attrs().ParentIndex]
	}
	switch d := l.(type) {
	case *netlink.Veth:
		out.Peer = parent
	case *netlink.Bond:
		out.Bond = &livestate.Bond{Mode: d.Mode.String(), Options: bondOptions(d, names)}
	case *netlink.Vlan:
		out.Parent, out.VLAN = parent, &livestate.VLAN{ID: d.VlanId, Protocol: strings.ToLower(d.VlanProtocol.String())}
	case *netlink.Vxlan:
		out.Parent, out.VXLAN = names[d.VtepDevIndex], &livestate.VXLAN{ID: d.VxlanId, Port: d.Port}
		if len(d.Group) > 0 {
			out.VXLAN.Remote = d.Group.String()
		}
	case *netlink.Bridge:
		out.Bridge = &livestate.LinuxBridge{STP: stp(l.Attrs().Name)}
	case *netlink.Vrf:
		out.VRF = &livestate.VRF{Table: d.Table}
	case *netlink.Macvlan, *netlink.Macvtap:
		out.Parent = parent
	}
}

func stp(bridge string) bool {
	data, err := os.ReadFile(filepath.Join("/sys/class/net", filepath.Base(bridge), "bridge/stp_state"))
	return err == nil && strings.TrimSpace(string(data)) != "0"
}

// kind returns NMState's name of a link's type, or the kernel's if NMState has none.
func kind(l netlink.Link) string {
	if l.Attrs().Flags&unix.IFF_LOOPBACK != 0 || l.Attrs().EncapType == "loopback" {
		return "loopback"
	}
	switch l.Type() {
	case "device":
		if l.Attrs().EncapType == "infiniband" {
			return "infiniband"
		}
		return "ethernet"
	case "bridge":
		return "linux-bridge"
	case "macvlan":
		return "mac-vlan"
	case "macvtap":
		return "mac-vtap"
	case "openvswitch":
		return "ovs-interface"
	case "tuntap":
		return "tun"
	}
	return l.Type()
}

// driver returns the driver of a network card; empty for other links, and if sysfs belongs to another namespace.
func driver(name string) string {
	target, err := os.Readlink(filepath.Join("/sys/class/net", filepath.Base(name), "device/driver"))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// pciAddress returns the PCI address of a network card; empty for other links. For a virtio card, it is that of the parent device.
func pciAddress(sys, name string) string {
	device, err := filepath.EvalSymlinks(filepath.Join(sys, filepath.Base(name), "device"))
	if err != nil {
		return ""
	}
	if strings.HasPrefix(filepath.Base(device), "virtio") {
		device = filepath.Dir(device)
	}
	address, _ := nmstate.PCI(filepath.Base(device))
	return address
}

func address(a netlink.Addr) livestate.Address {
	ones, _ := a.Mask.Size()
	ip, _ := netip.AddrFromSlice(a.IP)
	out := livestate.Address{
		Prefix:    netip.PrefixFrom(ip.Unmap(), ones),
		Dynamic:   a.Flags&unix.IFA_F_PERMANENT == 0,
		Tentative: a.Flags&unix.IFA_F_TENTATIVE != 0 && a.Flags&(unix.IFA_F_OPTIMISTIC|unix.IFA_F_DADFAILED) == 0,
		Duplicate: a.Flags&unix.IFA_F_DADFAILED != 0,
	}
	if out.Dynamic {
		out.Valid, out.Preferred = a.ValidLft, a.PreferedLft
	}
	return out
}

func methods(l *livestate.Link) {
	for _, a := range l.Addresses {
		switch {
		case !a.Dynamic || a.Prefix.Addr().IsLinkLocalUnicast():
		case a.Prefix.Addr().Is4():
			l.IPv4.DHCP = true
		case a.Prefix.Bits() == 128:
			l.IPv6.DHCP, l.IPv6.Autoconf = true, true // a server's address comes with a router's advertisement
		default:
			l.IPv6.Autoconf = true
		}
	}
}

func readResolvConf(path string) (livestate.DNS, error) {
	var dns livestate.DNS
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return dns, nil
	}
	if err != nil {
		return dns, fmt.Errorf("read DNS configuration: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			dns.Servers = append(dns.Servers, fields[1])
		case "search", "domain": // the last one counts
			dns.Search = slices.Clone(fields[1:])
		case "options":
			dns.Options = append(dns.Options, fields[1:]...)
		}
	}
	return dns, nil
}
