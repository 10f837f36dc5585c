// Package underlay is the network between the nodes: one Linux bridge in a
// network namespace of its own, to which every node is connected. The bridge has
// the address of the nodes' default gateway and represents the network outside the
// cluster. Further links are further bridges in that namespace, which are
// switches without addresses: every node and one host outside are on each. The process that holds the namespace also carries connections from
// the machine's loopback address to the API servers, so that nothing is added
// to the machine's own network.
package underlay

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

const (
	// Name is the name of the underlay in commands that take a node's name.
	Name = "underlay"
	// Device is the nodes' name for their end of the first cable: that to the
	// underlay, or of a host outside to its link.
	Device = "eth0"
	bridge = "underlay"
	// nodeBits and nodeBits6 are the prefix lengths of nodes' addresses: all
	// nodes are on one link.
	nodeBits, nodeBits6 = 24, 64
)

// build creates the bridges in the namespace of the calling process.
func build(s Spec) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback device: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set the loopback device up: %w", err)
	}
	if err := buildBridge(bridge, s.Family.Gateways(), s.MTU); err != nil {
		return err
	}
	for _, l := range s.Links {
		if err := buildBridge(linkBridge(l), nil, s.MTU); err != nil {
			return err
		}
	}
	return nil
}

// buildBridge creates one bridge. Without addresses it is a switch, also without a link-local address, which
// neighbours would see. An MTU of 0 is the kernel's default.
func buildBridge(name string, addresses []netip.Addr, mtu int) error {
	br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}
	if err := netlink.LinkAdd(br); err != nil {
		return fmt.Errorf("create the bridge %s: %w", name, err)
	}
	if err := setMTU(netlink.LinkSetMTU, br, mtu); err != nil {
		return err
	}
	if len(addresses) == 0 {
		if err := netlink.LinkSetIP6AddrGenMode(br, nl.IN6_ADDR_GEN_MODE_NONE); err != nil {
			return fmt.Errorf("keep addresses off the bridge %s: %w", name, err)
		}
	}
	for _, a := range addresses {
		if err := netlink.AddrAdd(br, address(a)); err != nil {
			return fmt.Errorf("give the bridge %s the address %s: %w", name, a, err)
		}
	}
	if err := netlink.LinkSetUp(br); err != nil {
		return fmt.Errorf("set the bridge %s up: %w", name, err)
	}
	return nil
}

// Attach connects a node or an outside host to the underlay, both given by a process in
// them, and configures the addresses and default routes of the node.
func Attach(underlayPID, nodePID int, t topology.Topology, n topology.Node) error {
	outer, err := handle(underlayPID)
	if err != nil {
		return err
	}
	defer outer.close()
	inner, err := handle(nodePID)
	if err != nil {
		return err
	}
	defer inner.close()
	for _, c := range cables(t, n) {
		if err := outer.lay(c, inner.ns, t.MTU); err != nil {
			return err
		}
		if err := inner.configure(c, t.MTU); err != nil {
			return err
		}
	}
	return nil
}

// lay creates a cable to a namespace.
func (n namespace) lay(c cable, to netns.NsHandle, mtu int) error {
	br, err := n.LinkByName(c.bridge)
	if err != nil {
		return fmt.Errorf("find the bridge %s: %w", c.bridge, err)
	}
	veth := &netlink.Veth{
		LinkAttrs:        netlink.LinkAttrs{Name: c.name, MasterIndex: br.Attrs().Index},
		PeerName:         c.device,
		PeerNamespace:    netlink.NsFd(int(to)),
		PeerHardwareAddr: c.hardwareAddr,
	}
	if err := n.LinkAdd(veth); err != nil {
		return fmt.Errorf("lay the cable %s: %w", c.name, err)
	}
	if err := setMTU(n.LinkSetMTU, veth, mtu); err != nil {
		return err
	}
	if err := n.LinkSetUp(veth); err != nil {
		return fmt.Errorf("set the cable %s up: %w", c.name, err)
	}
	return nil
}

// setMTU changes the MTU of a device that exists: the kernel ignores the one in a request for a new bridge or a new pair. 0 is its default.
func setMTU(set func(netlink.Link, int) error, link netlink.Link, mtu int) error {
	if mtu == 0 {
		return nil
	}
	if err := set(link, mtu); err != nil {
		return fmt.Errorf("set the MTU of %s to %d: %w", link.Attrs().Name, mtu, err)
	}
	return nil
}

// SetCable plugs in or unplugs the cable of a node's device.
func SetCable(underlayPID int, node, device string, plugged bool) error {
	outer, err := handle(underlayPID)
	if err != nil {
		return err
	}
	defer outer.close()
	cable, err := outer.LinkByName(cableName(node, device))
	if err != nil {
		return fmt.Errorf("find the cable of %s of %s: %w", device, node, err)
	}
	set := outer.LinkSetDown
	if plugged {
		set = outer.LinkSetUp
	}
	if err := set(cable); err != nil {
		return fmt.Errorf("change the cable of %s of %s: %w", device, node, err)
	}
	return nil
}

// Detach removes a node's cables. The kernel does so too, some time after the end
// of the node's last process, but a node that starts again needs the names earlier.
// A cable that does not exist is not an error.
func Detach(underlayPID int, t topology.Topology, n topology.Node) error {
	outer, err := handle(underlayPID)
	if err != nil {
		return err
	}
	defer outer.close()
	for _, c := range cables(t, n) {
		if err := outer.remove(c.name); err != nil {
			return err
		}
	}
	return nil
}

func (n namespace) remove(cable string) error {
	link, err := n.LinkByName(cable)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the cable %s: %w", cable, err)
	}
	// The kernel may remove it between the two calls.
	if err := n.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove the cable %s: %w", cable, err)
	}
	return nil
}

// namespace is a netlink handle in another network namespace.
type namespace struct {
	*netlink.Handle
	ns netns.NsHandle
}

func handle(pid int) (namespace, error) {
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		return namespace{}, fmt.Errorf("find the network namespace of process %d: %w", pid, err)
	}
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		ns.Close()
		return namespace{}, fmt.Errorf("enter the network namespace of process %d: %w", pid, err)
	}
	return namespace{Handle: h, ns: ns}, nil
}

func (n namespace) close() {
	n.Close()
	n.ns.Close()
}

// configure sets up a node's end of a cable.
func (n namespace) configure(c cable, mtu int) error {
	eth, err := n.LinkByName(c.device)
	if err != nil {
		return fmt.Errorf("find the end of the cable %s: %w", c.name, err)
	}
	if err := setMTU(n.LinkSetMTU, eth, mtu); err != nil {
		return err
	}
	if err := n.LinkSetUp(eth); err != nil {
		return fmt.Errorf("set the end of the cable %s up: %w", c.name, err)
	}
	for _, a := range c.addresses {
		if err := n.AddrAdd(eth, address(a)); err != nil {
			return fmt.Errorf("give the end of the cable %s the address %s: %w", c.name, a, err)
		}
	}
	for _, gw := range c.gateways {
		route := &netlink.Route{LinkIndex: eth.Attrs().Index, Gw: gw.AsSlice()}
		if err := n.RouteAdd(route); err != nil {
			return fmt.Errorf("give the end of the cable %s the default route %s: %w", c.name, gw, err)
		}
	}
	return nil
}

// address is usable immediately: duplicate address detection of IPv6 would only
// delay servers that bind to it.
func address(a netip.Addr) *netlink.Addr {
	bits, flags := nodeBits, 0
	if a.Is6() {
		bits, flags = nodeBits6, unix.IFA_F_NODAD
	}
	mask := net.CIDRMask(bits, a.BitLen())
	return &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: mask}, Flags: flags}
}
