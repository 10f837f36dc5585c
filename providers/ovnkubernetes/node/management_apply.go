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

	"github.com/cluster-network-operator/cno/internal/host/links"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

const (
	integration = topology.IntegrationBridge
	// managementPeer is the end of the management port's link in the bridge.
	managementPeer = "mp0"
)

// applyManagement reconciles the management port, its addresses and routes.
func (d *daemonState) applyManagement(ctx context.Context, blocks []netip.Prefix, mtu mtumigration.State) error {
	m := desiredManagement(blocks, slices.Concat(d.Config.ClusterNetwork(), d.Config.Services), mtu)
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
		d.repairs.Setting("the addresses of "+topology.ManagementLink, link.Attrs().Index, m.addresses)(links.SetAddresses(link, m.addresses)),
		d.repairs.Setting("the routes of "+topology.ManagementLink, link.Attrs().Index, m.routes)(links.SetRoutes(link, m.routes, m.mtu.RoutableMTU)),
		d.vswitch.EnsurePort(ctx, integration, ovs.Port{Name: managementPeer, ExternalIDs: map[string]string{"iface-id": topology.ManagementPort(d.Node)}}),
	)
}

// managementLink returns the node's end of the link. Both ends are up and have the desired MTU.
func (d *daemonState) managementLink(ctx context.Context, m management) (netlink.Link, error) {
	inside, err := d.place.Handle()
	if err != nil {
		return nil, err
	}
	defer inside.Close()
	link, err := netlink.LinkByName(topology.ManagementLink)
	if err == nil {
		if _, peerErr := inside.LinkByName(managementPeer); ovs.LinkMissing(peerErr) {
			// Its other end was deleted with its network namespace, or is not that of this agent.
			if err := netlink.LinkDel(link); err != nil {
				return nil, err
			}
			link, err = nil, peerErr
		}
	}
	switch {
	case ovs.LinkMissing(err):
		// Open vSwitch does not reopen a replaced interface.
		if err := d.vswitch.DeletePort(ctx, integration, managementPeer); err != nil {
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
	port := ovs.PodLink{Name: managementPeer, PodName: topology.ManagementLink, Place: d.place}
	errs := []error{port.SetMTU(m.mtu.MTU, m.mtu.RoutableMTU), inside.LinkSetUp(peer), netlink.LinkSetUp(link)}
	if d.userspace {
		errs = append(errs, ovs.DisableTxOffload(topology.ManagementLink))
	}
	return link, errors.Join(errs...)
}

func (d *daemonState) createManagement(m management) (netlink.Link, error) {
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.HardwareAddr, attributes.MTU = topology.ManagementLink, m.mac, m.mtu.MTU
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: managementPeer, PeerMTU: uint32(m.mtu.MTU)}
	if d.place.Path != "" {
		inside, err := netns.GetFromPath(d.place.Path)
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

// managementSettings enables forwarding between pods and other networks.
func (d *daemonState) managementSettings(m management) error {
	root := d.Config.Directories.ProcSys
	var errs []error
	for _, a := range m.addresses {
		if a.Addr().Is6() {
			errs = append(errs, sysctl.Set(root, "net/ipv6/conf/"+topology.ManagementLink+"/disable_ipv6", "0"), sysctl.ForwardIPv6(root))
		} else {
			// Replies may take another path than the kernel would choose: loose reverse path filtering.
			errs = append(errs, sysctl.Set(root, "net/ipv4/ip_forward", "1"), sysctl.Set(root, "net/ipv4/conf/"+topology.ManagementLink+"/rp_filter", "2"))
		}
	}
	return errors.Join(errs...)
}
