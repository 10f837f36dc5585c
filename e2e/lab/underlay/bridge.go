// Package underlay is the network between the nodes: one Linux bridge in a
// network namespace of its own, to which every node has a cable. The bridge has
// the address of the nodes' default routes and stands for the world outside the
// cluster. The process that holds the namespace also carries connections from
// the machine's loopback address to the API servers, so that nothing is added
// to the machine's own network.
package underlay

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

const (
	// Name is what commands call the underlay where they take a node's name.
	Name = "underlay"
	// Device is the nodes' name for their end of the cable.
	Device = "eth0"
	bridge = "underlay"
	// nodeBits and nodeBits6 are the prefix lengths of nodes' addresses: all
	// nodes are on one link.
	nodeBits, nodeBits6 = 24, 64
)

// buildBridge makes the bridge in the namespace of the calling process. An MTU of 0 is the kernel's default.
func buildBridge(f topology.Family, mtu int) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback device: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set the loopback device up: %w", err)
	}
	br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridge}}
	if err := netlink.LinkAdd(br); err != nil {
		return fmt.Errorf("create the bridge: %w", err)
	}
	if err := setMTU(netlink.LinkSetMTU, br, mtu); err != nil {
		return err
	}
	for _, a := range f.Gateways() {
		if err := netlink.AddrAdd(br, address(a)); err != nil {
			return fmt.Errorf("give the bridge the address %s: %w", a, err)
		}
	}
	if err := netlink.LinkSetUp(br); err != nil {
		return fmt.Errorf("set the bridge up: %w", err)
	}
	return nil
}

// Attach lays the cable between the underlay and a node, both given by a
// process in them, and gives the node its addresses and default routes.
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
	br, err := outer.LinkByName(bridge)
	if err != nil {
		return fmt.Errorf("find the bridge: %w", err)
	}
	cable := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: n.Name, MasterIndex: br.Attrs().Index},
		PeerName:      Device,
		PeerNamespace: netlink.NsFd(int(inner.ns)),
		// A machine has the same after a reboot: its peers remember it.
		PeerHardwareAddr: hardwareAddr(n.Primary()),
	}
	if err := outer.LinkAdd(cable); err != nil {
		return fmt.Errorf("lay the cable of %s: %w", n.Name, err)
	}
	if err := setMTU(outer.LinkSetMTU, cable, t.MTU); err != nil {
		return err
	}
	if err := outer.LinkSetUp(cable); err != nil {
		return fmt.Errorf("set the cable of %s up: %w", n.Name, err)
	}
	return inner.configure(t, n)
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

// SetCable plugs a node's cable in or pulls it.
func SetCable(underlayPID int, node string, plugged bool) error {
	outer, err := handle(underlayPID)
	if err != nil {
		return err
	}
	defer outer.close()
	cable, err := outer.LinkByName(node)
	if err != nil {
		return fmt.Errorf("find the cable of %s: %w", node, err)
	}
	set := outer.LinkSetDown
	if plugged {
		set = outer.LinkSetUp
	}
	if err := set(cable); err != nil {
		return fmt.Errorf("change the cable of %s: %w", node, err)
	}
	return nil
}

// Detach takes a node's cable away. The kernel would do so too, some time
// after the node's last process; a node that comes back needs the name before.
// A cable that is gone is removed already.
func Detach(underlayPID int, node string) error {
	outer, err := handle(underlayPID)
	if err != nil {
		return err
	}
	defer outer.close()
	cable, err := outer.LinkByName(node)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the cable of %s: %w", node, err)
	}
	// It may use itself between the two calls.
	if err := outer.LinkDel(cable); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("take the cable of %s away: %w", node, err)
	}
	return nil
}

// namespace is netlink in another network namespace.
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

func (n namespace) configure(t topology.Topology, node topology.Node) error {
	eth, err := n.LinkByName(Device)
	if err != nil {
		return fmt.Errorf("find %s of %s: %w", Device, node.Name, err)
	}
	if err := setMTU(n.LinkSetMTU, eth, t.MTU); err != nil {
		return err
	}
	if err := n.LinkSetUp(eth); err != nil {
		return fmt.Errorf("set %s of %s up: %w", Device, node.Name, err)
	}
	for _, a := range node.Addresses {
		if err := n.AddrAdd(eth, address(a)); err != nil {
			return fmt.Errorf("give %s the address %s: %w", node.Name, a, err)
		}
	}
	for _, gw := range t.Family.Gateways() {
		route := &netlink.Route{LinkIndex: eth.Attrs().Index, Gw: gw.AsSlice()}
		if err := n.RouteAdd(route); err != nil {
			return fmt.Errorf("give %s the default route %s: %w", node.Name, gw, err)
		}
	}
	return nil
}

// hardwareAddr is a locally administered one, made of an address that no other
// node has.
func hardwareAddr(a netip.Addr) net.HardwareAddr {
	b := a.As16()
	return append(net.HardwareAddr{0x02, 0x00}, b[12:]...)
}

// address is usable at once: waiting for duplicates of IPv6 addresses would
// only delay servers that bind to them.
func address(a netip.Addr) *netlink.Addr {
	bits, flags := nodeBits, 0
	if a.Is6() {
		bits, flags = nodeBits6, unix.IFA_F_NODAD
	}
	mask := net.CIDRMask(bits, a.BitLen())
	return &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: mask}, Flags: flags}
}
