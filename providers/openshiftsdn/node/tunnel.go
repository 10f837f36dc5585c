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

// applyNodePort reconciles tun0, which connects the node's kernel to the bridge: its addresses, and the routes to pods and Services.
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
	addresses := []netip.Prefix{netip.PrefixFrom(flows.RouterAddress(block), block.Bits()), netip.PrefixFrom(masquerade, masquerade.BitLen())}
	return errors.Join(
		ovs.PodLink{Name: agentconfig.Tunnel, PodName: agentconfig.Tunnel, Place: d.place}.SetMTU(d.Config.MTU, d.Config.Migration.Routable()), netlink.LinkSetUp(link),
		d.repairs.Setting("the addresses of "+agentconfig.Tunnel, link.Attrs().Index, addresses)(links.SetAddresses(link, addresses)),
		d.repairs.Setting("the routes of "+agentconfig.Tunnel, link.Attrs().Index, routes)(links.SetRoutes(link, routes, d.Config.Migration.Routable())),
		sysctl.Set(d.Config.ProcSys, "net/ipv4/ip_forward", "1"),
		// Replies may take another path than the kernel would choose: loose reverse path filtering.
		sysctl.Set(d.Config.ProcSys, "net/ipv4/conf/"+agentconfig.Tunnel+"/rp_filter", "2"),
	)
}

// nodeLink returns tun0, a port of the bridge. With the kernel datapath it is an internal port. With the userspace datapath it is the end of a veth pair,
// since internal ports lose their addresses when ovs-vswitchd ends.
func (d *daemon) nodeLink(ctx context.Context) (netlink.Link, error) {
	port := ovs.Port{Name: agentconfig.Tunnel, Number: flows.NodePort}
	if !d.userspace {
		port.Type = "internal"
		if err := d.ensurePort(ctx, port, 0); err != nil {
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
			// Its other end was deleted with its network namespace.
			if err := netlink.LinkDel(link); err != nil {
				return nil, err
			}
			err = peerErr
		}
	}
	missing := ovs.LinkMissing(err)
	if missing {
		// Open vSwitch does not reopen a replaced interface.
		if err := d.vswitch.DeletePort(ctx, agentconfig.Bridge, agentconfig.Tunnel); err != nil {
			return nil, err
		}
		link, err = d.createNodeLink()
	}
	if err != nil {
		return nil, err
	}
	d.repairs.Ensured("interface "+agentconfig.Tunnel, "", missing)
	peer, err := inside.LinkByName(agentconfig.Tunnel)
	if err != nil {
		return nil, err
	}
	return link, errors.Join(
		inside.LinkSetUp(peer), ovs.DisableTxOffload(agentconfig.Tunnel), d.ensurePort(ctx, port, link.Attrs().Index),
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
