package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/cluster-network-operator/cno/internal/host/links"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// applyNodePort makes tun0, by which the node's kernel is connected to the bridge, as it should be: its addresses, and the routes to pods and Services.
func (d *daemon) applyNodePort(ctx context.Context, block netip.Prefix) error {
	link, err := d.nodeLink(ctx)
	if err != nil {
		return fmt.Errorf("create interface %s: %w", agentconfig.Tunnel, err)
	}
	mac := flows.PodMAC(flows.RouterAddress(block))
	if !bytes.Equal(link.Attrs().HardwareAddr, mac) {
		if err := netlink.LinkSetHardwareAddr(link, mac); err != nil {
			return fmt.Errorf("set the hardware address of %s: %w", agentconfig.Tunnel, err)
		}
	}
	d.link.Store(int64(link.Attrs().Index))
	routes := map[netip.Prefix]netip.Addr{d.Config.ServiceNetwork: {}}
	for _, p := range d.Config.Pools() {
		routes[p] = netip.Addr{}
	}
	masquerade := flows.MasqueradeAddress(block)
	return errors.Join(
		ovs.PodLink{Name: agentconfig.Tunnel, PodName: agentconfig.Tunnel, Place: d.place}.SetMTU(d.Config.MTU, d.Config.Migration.Routable()), netlink.LinkSetUp(link),
		links.SetAddresses(link, []netip.Prefix{
			netip.PrefixFrom(flows.RouterAddress(block), block.Bits()), netip.PrefixFrom(masquerade, masquerade.BitLen()),
		}),
		links.SetRoutes(link, routes, d.Config.Migration.Routable()),
		sysctl.Set(d.Config.ProcSys, "net/ipv4/ip_forward", "1"),
		// Answers may take another way than the kernel would choose: loose reverse path filtering.
		sysctl.Set(d.Config.ProcSys, "net/ipv4/conf/"+agentconfig.Tunnel+"/rp_filter", "2"),
	)
}

// nodeLink returns tun0, which is a port of the bridge: with the userspace datapath the end of a pair of interfaces, since its own ones lose their
// addresses when ovs-vswitchd ends, and an internal port of the bridge with the kernel's.
func (d *daemon) nodeLink(ctx context.Context) (netlink.Link, error) {
	port := ovs.Port{Name: agentconfig.Tunnel, Number: flows.NodePort}
	if !d.userspace {
		port.Type = "internal"
		if err := d.ensurePort(ctx, port); err != nil {
			return nil, err
		}
		return netlink.LinkByName(agentconfig.Tunnel)
	}
	inside, err := d.place.Handle()
	if err != nil {
		return nil, err
	}
	defer inside.Close()
	link, err := netlink.LinkByName(agentconfig.Tunnel)
	if err == nil {
		if _, peerErr := inside.LinkByName(agentconfig.Tunnel); ovs.LinkMissing(peerErr) {
			// Its other end is in a namespace that is gone.
			if err := netlink.LinkDel(link); err != nil {
				return nil, err
			}
			err = peerErr
		}
	}
	if ovs.LinkMissing(err) {
		// Open vSwitch does not open an interface again that has been replaced.
		if err := d.vswitch.DeletePort(ctx, agentconfig.Bridge, agentconfig.Tunnel); err != nil {
			return nil, err
		}
		link, err = d.createNodeLink()
	}
	if err != nil {
		return nil, err
	}
	peer, err := inside.LinkByName(agentconfig.Tunnel)
	if err != nil {
		return nil, err
	}
	return link, errors.Join(
		inside.LinkSetUp(peer), ovs.DisableTxOffload(agentconfig.Tunnel), d.ensurePort(ctx, port),
	)
}

func (d *daemon) createNodeLink() (netlink.Link, error) {
	at, err := netns.GetFromPath(d.place.Path)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = agentconfig.Tunnel, d.Config.MTU
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: agentconfig.Tunnel, PeerMTU: uint32(d.Config.MTU), PeerNamespace: netlink.NsFd(at)}
	if err := netlink.LinkAdd(pair); err != nil {
		return nil, err
	}
	return netlink.LinkByName(agentconfig.Tunnel)
}
