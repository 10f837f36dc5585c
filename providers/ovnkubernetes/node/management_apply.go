package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/daemon"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

const (
	integration = topology.IntegrationBridge
	// managementPeer is the end of the management port's link that is a port of the bridge.
	managementPeer = "mp0"
	// protocol marks the agent's routes. The kernel gives it no meaning.
	protocol = 118
)

var underlayMTU = daemon.UnderlayMTU

// applyManagement makes the management port, its addresses and routes as they should be.
func (d *daemonState) applyManagement(ctx context.Context, blocks []netip.Prefix) error {
	m := desiredManagement(blocks, slices.Concat(d.Config.ClusterNetwork(), d.Config.Services), d.Config.MTU)
	link, err := d.managementLink(ctx, m)
	if err != nil {
		return fmt.Errorf("create interface %s: %w", topology.ManagementLink, err)
	}
	d.board.Update(func(s *status) bool {
		before := s.link
		s.link = link.Attrs().Index
		return s.link != before
	})
	return errors.Join(
		d.managementSettings(m),
		applyAddresses(link, m.addresses),
		applyRoutes(link, m.routes, m.mtu),
		d.vswitch.ensurePort(ctx, integration, ovs.Port{Name: managementPeer, ExternalIDs: map[string]string{"iface-id": topology.ManagementPort(d.Node)}}),
	)
}

// managementLink returns the node's end of the link, both ends of which are up and have the right MTU.
func (d *daemonState) managementLink(ctx context.Context, m management) (netlink.Link, error) {
	inside, err := d.place.handle()
	if err != nil {
		return nil, err
	}
	defer inside.Close()
	link, err := netlink.LinkByName(topology.ManagementLink)
	if err == nil {
		if _, peerErr := inside.LinkByName(managementPeer); missing(peerErr) {
			// Its other end is in a namespace that is gone, or not ours.
			if err := netlink.LinkDel(link); err != nil {
				return nil, err
			}
			link, err = nil, peerErr
		}
	}
	switch {
	case missing(err):
		// Open vSwitch does not open an interface again that has been replaced.
		if err := d.vswitch.deletePort(ctx, managementPeer); err != nil {
			return nil, err
		}
		if link, err = d.createManagement(m); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	peer, err := inside.LinkByName(managementPeer)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(link.Attrs().HardwareAddr, m.mac) {
		if err := netlink.LinkSetHardwareAddr(link, m.mac); err != nil {
			return nil, err
		}
	}
	errs := []error{inside.LinkSetMTU(peer, m.mtu), inside.LinkSetUp(peer), netlink.LinkSetMTU(link, m.mtu), netlink.LinkSetUp(link)}
	if d.userspace {
		errs = append(errs, ovs.DisableTxOffload(topology.ManagementLink))
	}
	return link, errors.Join(errs...)
}

func (d *daemonState) createManagement(m management) (netlink.Link, error) {
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.HardwareAddr, attributes.MTU = topology.ManagementLink, m.mac, m.mtu
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: managementPeer, PeerMTU: uint32(m.mtu)}
	if d.place.path != "" {
		inside, err := netns.GetFromPath(d.place.path)
		if err != nil {
			return nil, err
		}
		defer inside.Close()
		pair.PeerNamespace = netlink.NsFd(inside)
	}
	if err := netlink.LinkAdd(pair); err != nil {
		return nil, err
	}
	return netlink.LinkByName(topology.ManagementLink)
}

// managementSettings has the kernel forward between pods and everything else.
func (d *daemonState) managementSettings(m management) error {
	root := d.Config.Directories.ProcSys
	// Replies may take another way than the kernel would choose: loose reverse path filtering.
	errs := []error{sysctl.Set(root, "net/ipv4/ip_forward", "1"), sysctl.Set(root, "net/ipv4/conf/"+topology.ManagementLink+"/rp_filter", "2")}
	if slices.ContainsFunc(m.addresses, func(p netip.Prefix) bool { return p.Addr().Is6() }) {
		errs = append(errs, sysctl.Set(root, "net/ipv6/conf/"+topology.ManagementLink+"/disable_ipv6", "0"), sysctl.ForwardIPv6(root))
	}
	return errors.Join(errs...)
}

// applyAddresses gives an interface exactly these addresses, besides link-local ones.
func applyAddresses(link netlink.Link, want []netip.Prefix) error {
	have, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return fmt.Errorf("list addresses: %w", err)
	}
	var errs []error
	right := map[netip.Prefix]bool{}
	for i := range have {
		p, ok := netaddr.FromIPNet(have[i].IPNet)
		if !ok || p.Addr().IsLinkLocalUnicast() {
			continue
		}
		if right[p] = slices.Contains(want, p); !right[p] {
			errs = append(errs, netlink.AddrDel(link, &have[i]))
		}
	}
	for _, p := range want {
		if !right[p] {
			errs = append(errs, netlink.AddrReplace(link, &netlink.Addr{IPNet: netaddr.IPNet(p), Flags: noDAD(p)}))
		}
	}
	return errors.Join(errs...)
}

// noDAD skips the detection of duplicate addresses: the master gives every address once.
func noDAD(p netip.Prefix) int {
	if p.Addr().Is6() {
		return unix.IFA_F_NODAD
	}
	return 0
}

// applyRoutes gives an interface exactly these routes, besides those of the kernel and of third parties.
func applyRoutes(link netlink.Link, want map[netip.Prefix]netip.Addr, mtu int) error {
	have, err := netlinkdump.All(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Protocol: protocol, LinkIndex: link.Attrs().Index}, netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_OIF)
	})
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	var errs []error
	right := map[netip.Prefix]bool{}
	for i := range have {
		to, ok := netaddr.FromIPNet(have[i].Dst)
		via, _ := netip.AddrFromSlice(have[i].Gw)
		if next, wanted := want[to]; ok && wanted && next == via.Unmap() && have[i].MTU == mtu {
			right[to] = true
			continue
		}
		if err := netlink.RouteDel(&have[i]); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("remove the route to %s: %w", to, err))
		}
	}
	for to, via := range want {
		if right[to] {
			continue
		}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: netaddr.IPNet(to), Gw: via.AsSlice(), Protocol: protocol, MTU: mtu}
		if err := netlink.RouteReplace(route); err != nil {
			errs = append(errs, fmt.Errorf("route %s via %s: %w", to, via, err))
		}
	}
	return errors.Join(errs...)
}
