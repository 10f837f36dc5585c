package dhcp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
)

// NewLinks returns the Links of the kernel. They need CAP_NET_ADMIN, and CAP_SYS_ADMIN to enter network namespaces.
func NewLinks() Links { return kernel{} }

type kernel struct{}

// withLink calls f in the network namespace of a port with its interface.
func withLink(p Port, f func(netlink.Link) error) error {
	return gone(ns.WithNetNSPath(p.NetNS, func(ns.NetNS) error {
		link, err := netlink.LinkByName(p.Name)
		if err != nil {
			if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
				return ErrGone
			}
			return fmt.Errorf("read interface %s: %w", p.Name, err)
		}
		if mac := link.Attrs().HardwareAddr; len(p.MAC) > 0 && mac.String() != p.MAC.String() {
			return fmt.Errorf("%s has another MAC address: %w", p.Name, ErrGone)
		}
		return f(link)
	}))
}

// Up implements Links.
func (kernel) Up(p Port) (mac net.HardwareAddr, err error) {
	err = withLink(Port{NetNS: p.NetNS, Name: p.Name}, func(link netlink.Link) error {
		mac = link.Attrs().HardwareAddr
		if len(mac) != 6 {
			return fmt.Errorf("%s has no MAC address of Ethernet, by which DHCP servers know it", p.Name)
		}
		return netlink.LinkSetUp(link)
	})
	return mac, err
}

// Routes implements Links. It reads all tables, since plugins such as sbr use tables of their own.
func (kernel) Routes(p Port) (out []LinkRoute, err error) {
	err = withLink(p, func(link netlink.Link) error {
		filter := &netlink.Route{LinkIndex: link.Attrs().Index, Table: unix.RT_TABLE_UNSPEC}
		routes, err := netlinkdump.All(func() ([]netlink.Route, error) {
			return netlink.RouteListFiltered(netlink.FAMILY_V4, filter, netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE)
		})
		for _, r := range routes {
			if read, ok := linkRoute(r); ok {
				out = append(out, read)
			}
		}
		return err
	})
	return out, err
}

// linkRoute reads a route. ok is false for one that the kernel adds itself.
func linkRoute(r netlink.Route) (out LinkRoute, ok bool) {
	if r.Protocol == unix.RTPROT_KERNEL || r.Dst == nil {
		return out, false
	}
	destination, ok := netip.AddrFromSlice(r.Dst.IP.To4())
	bits, _ := r.Dst.Mask.Size()
	out = LinkRoute{Route: Route{Destination: netip.PrefixFrom(destination, bits), Via: netip.IPv4Unspecified()}, Table: r.Table, Metric: r.Priority}
	if via, ok := netip.AddrFromSlice(r.Gw.To4()); ok {
		out.Via = via
	}
	out.Source, _ = netip.AddrFromSlice(r.Src.To4())
	return out, ok
}

// Withdraw implements Links.
func (kernel) Withdraw(p Port, a netip.Prefix) error {
	return withLink(p, func(link netlink.Link) error {
		if err := netlink.AddrDel(link, addr(a)); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("remove %s: %w", a, err)
		}
		return nil
	})
}

// Restore implements Links.
func (kernel) Restore(p Port, a netip.Prefix, routes []LinkRoute) error {
	return withLink(p, func(link netlink.Link) error {
		if err := netlink.AddrAdd(link, addr(a)); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("add %s: %w", a, err)
		}
		for _, r := range routes {
			destination := ipNet(r.Destination)
			route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: &destination, Scope: netlink.SCOPE_LINK, Table: r.Table, Priority: r.Metric}
			if !r.Via.IsUnspecified() {
				route.Gw, route.Scope = r.Via.AsSlice(), netlink.SCOPE_UNIVERSE
			}
			if r.Source.IsValid() {
				route.Src = r.Source.AsSlice()
			}
			if err := netlink.RouteAdd(route); err != nil && !errors.Is(err, os.ErrExist) {
				return fmt.Errorf("add the route to %s: %w", r.Destination, err)
			}
		}
		return nil
	})
}

func addr(a netip.Prefix) *netlink.Addr {
	n := ipNet(a)
	return &netlink.Addr{IPNet: &n}
}
